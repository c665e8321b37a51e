// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// goTool puts a program called go, and nothing else of that name, in the way of the real one.
func goTool(t *testing.T, script string) {
	t.Helper()
	t.Setenv(AssetsVariable, "")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
}

// makesOutput is a go tool that writes the file after -o, and one line for each call.
const makesOutput = `while [ "$1" != -o ]; do shift; done; echo built >"$2"; chmod 700 "$2"; echo "$3" >>"$CALLS"; `

func TestBuildsAtOnceBuildEachProgramOnce(t *testing.T) {
	goTool(t, makesOutput+"sleep 0.3")
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	folder := t.TempDir()
	said := make([]bytes.Buffer, 3)
	var all sync.WaitGroup
	for i := range said {
		all.Go(func() {
			got, err := Build(t.Context(), BuildOptions{
				Folder: folder, Programs: []string{Kubectl, Etcd}, Output: &said[i], heartbeat: 50 * time.Millisecond})
			if err != nil || got != folder {
				t.Errorf("Build: %q, %v", got, err)
			}
		})
	}
	all.Wait()
	b, err := os.ReadFile(calls)
	if want := "go.etcd.io/etcd/server/v3\nk8s.io/kubernetes/cmd/kubectl\n"; err != nil || string(b) != want {
		t.Errorf("calls %q, %v; want %q", b, err, want)
	}
	var output strings.Builder
	for i := range said {
		output.WriteString(said[i].String())
	}
	for _, want := range []string{"another build of the control plane is under way", "kubectl (2 of 2) v1.", "etcd (1 of 2) is still being built", "kubectl (2 of 2) built in"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in:\n%s", want, output.String())
		}
	}
	leaves(t, folder, ".etcd.from", ".kubectl.from", ".lock", "etcd", "kubectl")
}

func TestBuildFromOtherPinsBuildsAgain(t *testing.T) {
	goTool(t, makesOutput)
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	root, folder := t.TempDir(), t.TempDir()
	pin := func(module, requirements string) {
		path := filepath.Join(root, "test", "cluster", module)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"go.mod": "module x\n" + requirements, "go.sum": ""} {
			if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, version := range []struct{ kubernetes, kwok string }{
		{"v1.36.3", "v0.8.0"}, {"v1.36.3", "v0.8.0"}, {"v1.36.4", "v0.8.0"}, {"v1.36.4", "v0.8.1"},
	} {
		pin("controlplane", "require k8s.io/kubernetes "+version.kubernetes+"\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.6.8 // indirect\n)\n")
		pin("kwok", "require sigs.k8s.io/kwok "+version.kwok+"\n")
		options := BuildOptions{Root: filepath.Join(root, "test"), Folder: folder, Programs: []string{Kubectl, Kwok}}
		if _, err := Build(t.Context(), options); err != nil {
			t.Fatal(err)
		}
	}
	const kubectl, kwok = "k8s.io/kubernetes/cmd/kubectl\n", "sigs.k8s.io/kwok/cmd/kwok\n"
	if b, err := os.ReadFile(calls); err != nil || string(b) != kubectl+kwok+kubectl+kwok {
		t.Errorf("calls %q, %v", b, err)
	}
}

func TestAnotherVersionOfKubernetesIsBuiltBesideTheNewest(t *testing.T) {
	goTool(t, makesOutput)
	t.Setenv("CALLS", filepath.Join(t.TempDir(), "calls"))
	root := t.TempDir()
	for folder, kubernetes := range map[string]string{"": "v1.37.2", "1.36": "v1.36.3"} {
		folder = filepath.Join(root, "test", "cluster", "controlplane", folder)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"go.mod": "module x\nrequire k8s.io/kubernetes " + kubernetes + "\n", "go.sum": ""} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for version, want := range map[string]string{"": "v1.37.2-", "1.36": "v1.36.3-"} {
		t.Setenv(VersionVariable, version)
		got, err := Build(t.Context(), BuildOptions{Root: root, Programs: []string{Kubectl}})
		if err != nil || !strings.HasPrefix(filepath.Base(got), want) {
			t.Errorf("version %q is in %s, %v", version, got, err)
		}
	}
	t.Setenv(VersionVariable, "1.35")
	if _, err := Build(t.Context(), BuildOptions{Root: root, Programs: []string{Kubectl}}); err == nil || !strings.Contains(err.Error(), "use one of 1.36, or unset it") {
		t.Errorf("of a version without pins: %v", err)
	}
}

// TestPinsAreShared holds that no module is compiled in more than one version, which doubles the first build.
func TestPinsAreShared(t *testing.T) {
	read := func(path string) map[string]string {
		mod, err := os.ReadFile(filepath.Join(path, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		return versions(string(mod))
	}
	shared, operator := 0, read("../..")
	for _, module := range []string{controlPlanePins, kwokPins} {
		for name, version := range read(module) {
			if strings.HasPrefix(name, "k8s.io/") && version == "v0.0.0" { // replaced, below
				continue
			}
			if of, ok := operator[name]; ok {
				shared++
				if of != version {
					t.Errorf("%s pins %s %s, the operator %s: set both to one, and run go mod tidy", module, name, version, of)
				}
			}
		}
		// k8s.io/kubernetes v1.37.2 has its parts at v0.37.2.
		if kubernetes, ok := read(module)[kubernetesModule]; ok && operator["k8s.io/client-go"] != "v0"+strings.TrimPrefix(kubernetes, "v1") {
			t.Errorf("%s pins Kubernetes %s, the operator k8s.io/client-go %s", module, kubernetes, operator["k8s.io/client-go"])
		}
	}
	if shared < 50 {
		t.Errorf("%d modules are shared: too few to be true", shared)
	}
}

func TestInterruptedBuildLeavesNothing(t *testing.T) {
	goTool(t, `echo >"$STARTED"; exec sleep 1000`)
	started := filepath.Join(t.TempDir(), "started")
	t.Setenv("STARTED", started)
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupt := errors.New("Ctrl-C")
	folder := t.TempDir()
	failed := make(chan error, 1)
	go func() {
		_, err := Build(ctx, BuildOptions{Folder: folder, Programs: []string{Etcd}})
		failed <- err
	}()
	eventually(t, patience, func() error { _, err := os.Stat(started); return err })
	cancel(interrupt)
	if err := <-failed; !errors.Is(err, interrupt) {
		t.Errorf("got %v", err)
	}
	leaves(t, folder, ".lock")
}

func TestBuildErrorsSayTheRemedy(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T)
		options BuildOptions
		want    []string
	}{
		{
			name:    "no Go tool",
			prepare: func(t *testing.T) { t.Setenv("PATH", t.TempDir()) },
			want:    []string{"install Go", AssetsVariable, "etcd"},
		},
		{
			name: "no network",
			prepare: func(t *testing.T) {
				t.Setenv("GOPROXY", "off")
				t.Setenv("GOMODCACHE", t.TempDir())
			},
			want: []string{"go.etcd.io/etcd/server/v3", "module lookup disabled", "check the network and `go env GOPROXY`", "what was downloaded and compiled is kept"},
		},
		{
			name:    "disk full",
			prepare: func(t *testing.T) { goTool(t, "echo write: no space left on device; exit 1") },
			want:    []string{"exit status 1", "free some 5 GB"},
		},
		{
			name:    "old Go",
			prepare: func(t *testing.T) { goTool(t, "echo go: go.mod requires go '>=' 1.26.0; exit 1") },
			want:    []string{"install the Go version that it asks for"},
		},
		{
			name:    "code that does not compile",
			prepare: func(t *testing.T) { goTool(t, "echo x.go:1: undefined: y; exit 1") },
			want:    []string{"build go.etcd.io/etcd/server/v3", "exit status 1\nx.go:1: undefined: y"},
		},
		{
			name:    "outside a checkout",
			prepare: func(*testing.T) {},
			options: BuildOptions{Root: os.TempDir()},
			want:    []string{"no test/cluster/controlplane/go.mod", "BuildOptions.Root", AssetsVariable},
		},
		{
			name:    "unknown program",
			prepare: func(*testing.T) {},
			options: BuildOptions{Programs: []string{"kube-nothing"}},
			want:    []string{`"kube-nothing"`, "kube-apiserver"},
		},
		{
			name: "assets without any program",
			prepare: func(t *testing.T) {
				t.Setenv(AssetsVariable, t.TempDir())
			},
			options: BuildOptions{Programs: []string{Etcd, ControllerManager}},
			want:    []string{AssetsVariable, "etcd, kube-controller-manager", "unset"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(AssetsVariable, "")
			if test.options.Programs == nil {
				test.options.Programs = []string{Etcd}
			}
			test.options.Folder = t.TempDir()
			test.prepare(t)
			_, err := Build(t.Context(), test.options)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}

func TestAssetsAreUsedInsteadOfBuilding(t *testing.T) {
	goTool(t, "exit 1")
	folder := t.TempDir()
	t.Setenv(AssetsVariable, folder)
	if err := os.WriteFile(filepath.Join(folder, Etcd), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Build(t.Context(), BuildOptions{Programs: []string{Etcd}}); err != nil || got != folder {
		t.Errorf("Build: %q, %v", got, err)
	}
}

func TestWhatAssetsLackIsBuilt(t *testing.T) {
	goTool(t, makesOutput)
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	given, folder := t.TempDir(), t.TempDir()
	t.Setenv(AssetsVariable, given)
	for _, name := range []string{Etcd, Scheduler} {
		if err := os.WriteFile(filepath.Join(given, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found, err := locate(t.Context(), BuildOptions{Folder: folder, Programs: []string{Etcd, Scheduler, Kwok}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{Etcd: given, Scheduler: given, Kwok: folder} {
		if got := found.path(name); got != filepath.Join(want, name) {
			t.Errorf("%s is %s", name, got)
		}
	}
	if b, err := os.ReadFile(calls); err != nil || string(b) != "sigs.k8s.io/kwok/cmd/kwok\n" {
		t.Errorf("calls %q, %v", b, err)
	}
}

// archive serves an index of setup-envtest, with one archive of a version that has etcd, kube-apiserver and kubectl.
func archive(t *testing.T, version string) (index string) {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	for _, name := range []string{Etcd, APIServer, Kubectl} {
		content := []byte("#!/bin/sh\necho downloaded\n")
		err := errors.Join(
			files.WriteHeader(&tar.Header{Name: "controller-tools/envtest/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}),
			func() error { _, err := files.Write(content); return err }())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("envtest-%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/"+name {
			_, _ = w.Write(packed.Bytes())
			return
		}
		_, _ = fmt.Fprintf(w, "releases:\n  %s:\n    %s: {hash: %x, selfLink: %s/%s}\n", version, name, sha512.Sum512(packed.Bytes()), server.URL, name)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/index.yaml"
}

// setup-envtest is the real one; what it downloads comes from this host.
func TestPrebuiltProgramsAreDownloadedAndTheRestIsBuilt(t *testing.T) {
	for _, variable := range []string{"GOMODCACHE", "GOCACHE"} { // HOME is another one
		out, err := exec.Command("go", "env", variable).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, strings.TrimSpace(string(out)))
	}
	t.Setenv(AssetsVariable, "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv(IndexVariable, archive(t, "v1.37.9"))
	var output bytes.Buffer
	options := BuildOptions{Folder: t.TempDir(), Programs: []string{Etcd, APIServer, Kubectl}, Prebuilt: true, Output: &output}
	for _, index := range []string{os.Getenv(IndexVariable), "http://127.0.0.1:1/gone"} { // the second time it is on the machine
		t.Setenv(IndexVariable, index)
		folder, err := Build(t.Context(), options)
		if err != nil {
			t.Fatalf("%v\n%s", err, output.String())
		}
		if said, err := exec.Command(filepath.Join(folder, APIServer)).Output(); err != nil || string(said) != "downloaded\n" || !strings.Contains(folder, "1.37.9") {
			t.Errorf("%s: %q, %v", folder, said, err)
		}
	}

	goTool(t, makesOutput) // which has no setup-envtest
	t.Setenv("CALLS", filepath.Join(t.TempDir(), "calls"))
	t.Setenv(IndexVariable, "http://127.0.0.1:1/gone")
	output.Reset()
	for _, programs := range [][]string{{Etcd, APIServer, Kubectl}, {Etcd, ControllerManager}} { // the stages of a start
		options.Programs = programs
		if folder, err := Build(t.Context(), options); err != nil || folder != options.Folder {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if said := output.String(); strings.Count(said, "all programs are built, once") != 1 || strings.Count(said, "downloading") != 1 || strings.Contains(said, "exit status") {
		t.Errorf("the attempt is printed more than once, or with its error:\n%s", said)
	}
}

// leaves compares what is in a folder, by name.
func leaves(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
}
