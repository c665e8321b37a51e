// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Missing says what a real node needs that this machine lacks, one reason a line; none means that it
// can be tried.
func Missing() []string {
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root: namespaces, mounts and control groups are made")
	}
	needed := []string{"ip", "mount"}
	if !installed() {
		needed = append(needed, "apt-get", "dpkg-deb")
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if name == "apt-get" || name == "dpkg-deb" {
			name = fmt.Sprintf("%s: %s are not installed, and Debian's packages bring them", name, strings.Join(brought, " and "))
		}
		missing = append(missing, "the program "+name)
	}
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return append(missing, err.Error())
	}
	if !strings.Contains(string(known), "\toverlay\n") {
		missing = append(missing, "overlayfs: `modprobe overlay`")
	}
	if _, err := hierarchies(controlGroups); err != nil {
		missing = append(missing, err.Error())
	}
	return missing
}
