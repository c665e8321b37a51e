// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheKubeletIsOfTheReleaseOfItsAPIServer(t *testing.T) {
	ours, err := os.ReadFile("components/kubernetes/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("../cluster/controlplane/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if version(ours) == "" || version(ours) != version(theirs) {
		t.Errorf("the kubelet is stamped with %q, the control plane with %q", version(ours), version(theirs))
	}
}

func TestEveryProgramIsAToolOfItsPins(t *testing.T) {
	for _, p := range programs {
		if p.pins == "" {
			continue
		}
		pins, err := os.ReadFile(filepath.Join("components", p.pins, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(pins, []byte("\n\t"+p.pkg+"\n")) {
			t.Errorf("%s is no tool of components/%s/go.mod", p.pkg, p.pins)
		}
	}
}

func TestAProgramWithoutItsStampOrFromOtherPinsIsBuiltAgain(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, kubelet)
	written(t, folder, map[string]string{kubelet: "a program"})
	if current(path, "pins") {
		t.Error("an unfinished build counts")
	}
	written(t, folder, map[string]string{".kubelet.from": "pins"})
	if !current(path, "pins") || current(path, "other pins") {
		t.Error("the stamp does not decide")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if current(path, "pins") {
		t.Error("a stamp without its program counts")
	}
}

func TestABuildThatFailsSaysWhatTheGoToolSaid(t *testing.T) {
	root := t.TempDir()
	written(t, root, map[string]string{"test/node/components/broken/go.mod": "module broken\n\ngo 1.26\n"})
	err := build(t.Context(), root, filepath.Join(root, "program"), program{name: "program", pkg: "./nowhere", pins: "broken"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "build ./nowhere") || !strings.Contains(err.Error(), "directory not found") {
		t.Error(err)
	}
}

func TestComponentsFindThePackagesProgramsAndLibraries(t *testing.T) {
	root := t.TempDir()
	written(t, root, map[string]string{"usr/lib/x86_64-linux-gnu/libnftables.so.1": ""})
	env := Programs{Folder: "/built", Debian: root}.environment()
	if !strings.HasPrefix(env[0], "PATH=/built:"+root+"/usr/sbin:") || !slices.Contains(env, "LD_LIBRARY_PATH="+root+"/usr/lib/x86_64-linux-gnu") {
		t.Error(env)
	}
	if env := (Programs{Folder: "/built"}).environment(); slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "LD_") }) {
		t.Errorf("the host's own packages need no other libraries: %v", env)
	}
}

func TestANodeStartsNowhereButInside(t *testing.T) {
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "only inside") {
		t.Error(err)
	}
}
