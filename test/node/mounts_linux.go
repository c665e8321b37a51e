// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// stateSize bounds what the node may write. A run with two images of 60 MB takes 400 MB.
const stateSize = "size=3g"

type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

// mounts gives the inside its own view. Nothing that is mounted here is seen outside.
func mounts() error {
	all := []mount{
		// Cut off from the host, and then shared again within: volumes that propagate need that.
		{target: "/", flags: syscall.MS_REC | syscall.MS_PRIVATE},
		{target: "/", flags: syscall.MS_REC | syscall.MS_SHARED},
		{source: "proc", target: "/proc", kind: "proc", flags: syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
		{source: "tmpfs", target: "/run", kind: "tmpfs", flags: syscall.MS_NOSUID | syscall.MS_NODEV, data: stateSize + ",mode=755"},
		// Some paths of containerd, CNI and the kubelet cannot be configured: they write to /var.
		layered("/var/lib"), layered("/var/log"),
	}
	for _, m := range all {
		if m.kind == "overlay" {
			for _, folder := range []string{upper(m.target), work(m.target), temporary} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					return fmt.Errorf("mounts of the node: %w", err)
				}
			}
		}
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	return syscall.Sethostname([]byte(Name))
}

// layered puts memory over a folder: what is there can be read, what is written is gone in the end.
func layered(target string) mount {
	return mount{source: "overlay", target: target, kind: "overlay",
		data: fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", target, upper(target), work(target))}
}

func upper(target string) string { return filepath.Join(state, "over", target, "upper") }

func work(target string) string { return filepath.Join(state, "over", target, "work") }
