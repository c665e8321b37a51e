// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// AssetsVariable names the folder whose programs are used instead of building any, as in envtest.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// BuildOptions of Build. The zero value builds every program, inside a checkout.
type BuildOptions struct {
	// Programs to have, by name. Default: etcd, kubectl, kube-apiserver, kube-controller-manager,
	// kube-scheduler, kwok. Options.Build: what the cluster needs.
	Programs []string
	// Root is a folder inside a checkout of fairlead, where the pinned versions stand. Default: the
	// working directory.
	Root string
	// Folder takes the programs. Default: bin/controlplane/<version>-<os>-<arch> of the checkout.
	Folder string
	// Prebuilt has setup-envtest look for etcd, kube-apiserver and kubectl on this machine, and download them, before
	// they are built. Default: they are built.
	Prebuilt bool
	// Output takes the progress. Default: none. Options.Build: Options.Output.
	Output io.Writer

	// heartbeat is the pause between two signs of life of a long build.
	heartbeat time.Duration
}

// Build returns a folder with the programs of a control plane. Where KUBEBUILDER_ASSETS is set, that
// is the folder, and what it lacks is built where it would be without it. Otherwise what is missing, or was built from
// other pins, is built from Go modules, of the version that FAIRLEAD_KUBERNETES names: 10 to 18 minutes on two cores
// the first time, a fraction of a second afterwards. Two builds at once wait for each other, and a build that is
// interrupted leaves nothing.
func Build(ctx context.Context, options BuildOptions) (string, error) {
	found, err := locate(ctx, options)
	if err != nil {
		return "", err
	}
	return found.folder, nil
}

type builder struct {
	options BuildOptions
	pins    map[string]*pins // by the module they stand in
	folder  string
}

// missing are the programs that are not there, or not from these pins.
func (b *builder) missing(wanted []program) []program {
	var missing []program
	for _, p := range wanted {
		stamp, err := os.ReadFile(b.stampPath(p)) //nolint:gosec // in the folder of programs that the caller names
		if err == nil && string(stamp) == b.stamp(p) {
			if _, err = os.Stat(filepath.Join(b.folder, p.name)); err == nil { //nolint:gosec // as above
				continue
			}
		}
		missing = append(missing, p)
	}
	return missing
}

// stamp says what a program was built from. It is written after the program, so that a program
// without its stamp counts as missing.
func (b *builder) stamp(p program) string {
	from := b.pins[p.pins]
	return fmt.Sprintf("%x\n", sha256.Sum256(fmt.Appendf(slices.Clip(from.content), "\n%s\n%s", p.pkg, from.ldflags(p))))
}

func (b *builder) stampPath(p program) string {
	return filepath.Join(b.folder, "."+p.name+".from")
}

// build builds what is missing once this process is the only one that builds here.
func (b *builder) build(ctx context.Context, wanted []program) (err error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("build the control plane: %w: install Go (https://go.dev/dl), or set %s to a folder with %s",
			err, AssetsVariable, names(wanted))
	}
	if err := os.MkdirAll(b.folder, 0o755); err != nil { //nolint:gosec // as the Go tool makes folders of programs
		return fmt.Errorf("build the control plane: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(b.folder, ".lock"), func() {
		b.printf("another build of the control plane is under way in %s: waiting for it", b.folder)
	})
	if err != nil {
		return fmt.Errorf("build the control plane: %w", err)
	}
	defer unlock()

	missing := b.missing(wanted) // the other one may have built it all
	if len(missing) == 0 {
		return nil
	}
	// The folder must be on the same file system as the result, for the rename to be atomic. The
	// supervisor removes it, with all that the Go tool keeps in it, however this ends.
	s, err := newSupervisor(filepath.Join(b.folder, ".building-"+rand.Text()[:12]))
	if err != nil {
		return fmt.Errorf("build the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()

	b.printf("building %s from Go modules into %s, once: all six programs take 10 to 18 minutes on two cores, half of it for kube-apiserver and kube-controller-manager",
		names(missing), b.folder)
	for i, p := range missing {
		if err := b.one(ctx, s, goTool, p, fmt.Sprintf("%s (%d of %d)", p.name, i+1, len(missing))); err != nil {
			return err
		}
	}
	return nil
}

// one builds a program and puts it in its place.
func (b *builder) one(ctx context.Context, s *supervisor, goTool string, p program, title string) error {
	built, from := filepath.Join(s.folder, p.name), b.pins[p.pins]
	cmd := exec.Command(goTool, "build", "-trimpath", "-ldflags", from.ldflags(p), "-o", built, p.pkg) //nolint:gosec // the Go tool, for a program of the list
	cmd.Dir = from.folder
	cmd.Env = append(os.Environ(),
		// For this machine, whatever is being cross-compiled around us, and by the pins alone.
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOFLAGS=", "GOWORK=off",
		"GOTMPDIR="+s.folder, "PWD="+from.folder)
	var said ring
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second

	began := time.Now()
	b.printf("  %s %s ...", title, from.versions[p.module])
	if err := b.await(ctx, s, cmd, title, began); err != nil {
		return fmt.Errorf("build %s %s: %w%s%s", p.pkg, from.versions[p.module], err, remedy(said.String()), said.quoted())
	}
	if err := os.Rename(built, filepath.Join(b.folder, p.name)); err != nil { //nolint:gosec // in the folder of programs that the caller names
		return fmt.Errorf("build %s: %w", p.pkg, err)
	}
	if err := os.WriteFile(b.stampPath(p), []byte(b.stamp(p)), 0o644); err != nil { //nolint:gosec // stands beside the program, and is as public
		return fmt.Errorf("build %s: %w", p.pkg, err)
	}
	b.printf("  %s built in %v", title, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// await runs cmd to its end and shows signs of life meanwhile.
func (b *builder) await(ctx context.Context, s *supervisor, cmd *exec.Cmd, title string, began time.Time) error {
	p, err := s.start(cmd)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(b.options.heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return p.err
		case <-ctx.Done():
			p.end(2 * time.Second)
			return context.Cause(ctx)
		case <-ticker.C:
			b.printf("  %s is still being built, %v so far", title, time.Since(began).Round(time.Second))
		}
	}
}

func (b *builder) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.options.Output, format+"\n", args...)
}

// remedy says what to do about a failure that is not the code's.
func remedy(said string) string {
	switch {
	case strings.Contains(said, "no space left on device"):
		return ": free some 5 GB for Go's caches (go env GOCACHE GOMODCACHE)"
	case strings.Contains(said, "requires go >="), strings.Contains(said, "toolchain not available"):
		return ": install the Go version that it asks for"
	}
	for _, sign := range []string{"dial tcp", "no such host", "proxyconnect", "module lookup disabled", "i/o timeout",
		"TLS handshake", "connection refused", "502 Bad Gateway", "503 Service", "x509:"} {
		if strings.Contains(said, sign) {
			return ": the modules could not be downloaded: check the network and `go env GOPROXY`, then try again (what " +
				"was downloaded and compiled is kept), or set " + AssetsVariable + " to a folder with the programs"
		}
	}
	return ""
}

func names(of []program) string {
	var list []string
	for _, p := range of {
		list = append(list, p.name)
	}
	return strings.Join(list, ", ")
}

// ring keeps the last 8 KiB of what is written to it.
type ring struct{ b []byte }

func (r *ring) Write(p []byte) (int, error) {
	const limit = 8 << 10
	r.b = append(r.b, p...)
	if excess := len(r.b) - limit; excess > 0 {
		r.b = bytes.Clone(r.b[excess:])
	}
	return len(p), nil
}

func (r *ring) String() string { return string(r.b) }

func (r *ring) quoted() string {
	if s := strings.TrimSpace(r.String()); s != "" {
		return "\n" + s
	}
	return ""
}
