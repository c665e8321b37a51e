// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written makes files below a folder, with the folders that they need.
func written(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryHierarchyOfVersionOneGetsAGroup(t *testing.T) {
	root := t.TempDir()
	written(t, root, map[string]string{"cpu/cgroup.procs": "", "memory/cgroup.procs": "", "not-mounted/other": ""})
	if err := os.Symlink(filepath.Join(root, "cpu"), filepath.Join(root, "cpuacct")); err != nil {
		t.Fatal(err)
	}
	got, err := hierarchies(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(root, "cpu"), filepath.Join(root, "memory")}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVersionTwoIsOneHierarchyThatMustHandItsControllersDown(t *testing.T) {
	root := t.TempDir()
	written(t, root, map[string]string{"cgroup.subtree_control": "cpuset cpu io memory pids\n"})
	got, err := hierarchies(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{root}, got); diff != "" {
		t.Error(diff)
	}
	written(t, root, map[string]string{"cgroup.subtree_control": "cpu pids\n"})
	if _, err := hierarchies(root); err == nil || !strings.Contains(err.Error(), `"memory"`) {
		t.Errorf("without the controller: %v", err)
	}
}

func TestAMachineWithoutControlGroupsIsToldSo(t *testing.T) {
	if _, err := hierarchies(t.TempDir()); err == nil || !strings.Contains(err.Error(), "control groups mounted") {
		t.Error(err)
	}
}

func TestAGroupReplacesWhatAKilledRunLeftAndIsRemovedWithAllBelow(t *testing.T) {
	root := t.TempDir()
	written(t, root, map[string]string{"cpu/cgroup.procs": "", "memory/cgroup.procs": ""})
	stale := filepath.Join(root, "cpu", "node", "kubepods", "pod")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := newGroup(t.Context(), root, "node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is still there: %v", err)
	}
	if err := os.MkdirAll(stale, 0o700); err != nil { // the group is there to be used
		t.Fatal(err)
	}
	if err := g.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, hierarchy := range []string{"cpu", "memory"} {
		if _, err := os.Stat(filepath.Join(root, hierarchy, "node")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the group is still in %s: %v", hierarchy, err)
		}
	}
}

func TestACpusetInheritsWhatNoProcessCanEnterItWithout(t *testing.T) {
	root := t.TempDir()
	written(t, root, map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n", "node/other": ""})
	if err := inherit(root, filepath.Join(root, "node")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n"} {
		if got, err := os.ReadFile(filepath.Join(root, "node", file)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v)", file, got, err)
		}
	}
}
