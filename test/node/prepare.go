// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// PrepareOptions of Prepare.
type PrepareOptions struct {
	// Root is the checkout.
	Root string
	// Output takes the progress. Default: none.
	Output io.Writer
}

// Prepare builds the programs of a node and unpacks what Debian brings, as far as they are not there
// already, into bin/node of the checkout: a minute or two after the control plane was built on this machine, some ten otherwise, and
// a fraction of a second afterwards.
func Prepare(ctx context.Context, o PrepareOptions) (Programs, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return Programs{}, fmt.Errorf("the checkout: %w", err)
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
	p := Locate(root)
	if err := os.MkdirAll(p.Folder, 0o755); err != nil { //nolint:gosec // as the Go tool makes folders of programs
		return p, fmt.Errorf("prepare the node: %w", err)
	}
	for _, program := range programs {
		if err := build(ctx, root, p.path(program.name), program, o.Output); err != nil {
			return p, err
		}
	}
	if p.Debian == "" {
		return p, nil
	}
	return p, unpack(ctx, p.Debian, o.Output)
}

// build builds a program unless it stands there, from these pins. What this module holds itself is
// always handed to the Go tool, which knows whether it is current.
func build(ctx context.Context, root, path string, p program, output io.Writer) error {
	folder, flags, stamp := filepath.Join(root, "test"), "-s -w", ""
	if p.pins != "" {
		folder = filepath.Join(folder, "node", "components", p.pins)
		pins, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			return fmt.Errorf("build %s: %w", p.name, err)
		}
		flags += version(pins)
		stamp = fmt.Sprintf("%x\n", sha256.Sum256(fmt.Appendf(pins, "\n%s\n%s", p.pkg, flags)))
		if current(path, stamp) {
			return nil
		}
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", path, p.pkg)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	cmd.WaitDelay = time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", p.pkg, errors.Join(err, context.Cause(ctx)), tail(said))
	}
	if stamp == "" {
		return nil
	}
	_, _ = fmt.Fprintf(output, "%s built in %v\n", p.name, time.Since(began).Round(100*time.Millisecond))
	return os.WriteFile(stampPath(path), []byte(stamp), 0o600) //nolint:gosec // in the folder of programs of the checkout that the developer names
}

func current(path, stamp string) bool {
	have, err := os.ReadFile(stampPath(path))
	if err != nil || string(have) != stamp {
		return false
	}
	_, err = os.Stat(path)
	return err == nil
}

// stampPath names the file that says what a program was built from. It is written last, so that a
// build that was interrupted does not count.
func stampPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".from")
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// version is stamped into what comes from Kubernetes, or it presents itself as a placeholder that
// cannot be compared.
func version(pins []byte) string {
	found := kubernetesVersion.FindSubmatch(pins)
	if found == nil {
		return ""
	}
	const in = " -X k8s.io/component-base/version."
	return fmt.Sprintf("%sgitVersion=%s%sgitMajor=%s%sgitMinor=%s", in, found[1], in, found[2], in, found[3])
}

// tail is the end of what a program said.
func tail(said []byte) string {
	const limit = 4 << 10
	return strings.TrimSpace(string(said[max(0, len(said)-limit):]))
}
