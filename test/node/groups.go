// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// controlGroups is where the kernel's control groups are mounted.
const controlGroups = "/sys/fs/cgroup"

// group is a control group below which the kubelet puts those of its pods: one folder in every
// hierarchy of version 1, or the one of version 2. It is all that outlives the namespaces.
type group struct{ folders []string }

// hierarchies are the folders in which a group has to be made.
func hierarchies(root string) ([]string, error) {
	if controllers, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); err == nil {
		for _, needed := range []string{"cpu", "memory", "pids"} {
			if !slices.Contains(strings.Fields(string(controllers)), needed) {
				return nil, fmt.Errorf("the controller %q in %s/cgroup.subtree_control", needed, root)
			}
		}
		return []string{root}, nil
	}
	var found []string
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	for _, entry := range entries {
		folder := filepath.Join(root, entry.Name())
		if target, err := filepath.EvalSymlinks(folder); err != nil || target != folder {
			continue // cpu is often another name for cpu,cpuacct
		}
		if _, err := os.Stat(filepath.Join(folder, "cgroup.procs")); err == nil {
			found = append(found, folder)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("control groups mounted on %s", root)
	}
	return found, nil
}

// newGroup makes the group, after it has removed what a run that was killed left under that name.
func newGroup(ctx context.Context, root, name string) (*group, error) {
	parents, err := hierarchies(root)
	if err != nil {
		return nil, err
	}
	g := &group{}
	for _, parent := range parents {
		g.folders = append(g.folders, filepath.Join(parent, name))
	}
	if err := g.remove(ctx); err != nil {
		return nil, err
	}
	for i, folder := range g.folders {
		if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // as the kernel makes them
			return nil, errors.Join(fmt.Errorf("make a control group: %w", err), g.remove(ctx))
		}
		if err := inherit(parents[i], folder); err != nil {
			return nil, errors.Join(err, g.remove(ctx))
		}
	}
	return g, nil
}

// inherit fills the two files without which no process may enter a cpuset of version 1.
func inherit(parent, child string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // of another controller; and the root of version 2 has none
		}
		if err != nil {
			return fmt.Errorf("control group: %w", err)
		}
		if err := os.WriteFile(filepath.Join(child, file), value, 0o600); err != nil { //nolint:gosec // a file of the kernel in a group that this just made
			return fmt.Errorf("control group: %w", err)
		}
	}
	return nil
}

// removeWithin is how long the kernel may take to let go of processes that were killed.
const removeWithin = 20 * time.Second

// remove ends what still runs in the group, which can only be containers of a node, and removes it.
// The end of ctx does not stop it: it is what is done last.
func (g *group) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		var left []error
		for _, folder := range g.folders {
			left = append(left, removeTree(folder))
		}
		err := errors.Join(left...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("control groups that are still there after %v: %w: remove them by hand", removeWithin, err)
		case <-ticker.C:
		}
	}
}

// removeTree removes a group after those below it: the kernel removes only one at a time, and its
// files go with it.
func removeTree(folder string) error {
	var folders []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	var left []error
	for _, path := range slices.Backward(folders) {
		kill(filepath.Join(path, "cgroup.procs"))
		if err := syscall.Rmdir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, fmt.Errorf("%s: %w", path, err))
		}
	}
	return errors.Join(left...)
}

func kill(processes string) {
	listed, err := os.ReadFile(processes)
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(listed)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one that is gone is what is wanted
		}
	}
}
