// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

// killContainer ends the process of a pod's container at once, as the kernel does that is out of
// memory.
func killContainer(proc, pod string) error {
	pid, err := processOf(proc, pod)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// processOf finds the process of a pod's container by the name of the pod, which the shipped manifests
// give it.
func processOf(proc, pod string) (pid int, err error) {
	environments, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "environ"))
	if err != nil {
		return 0, err
	}
	for _, path := range environments {
		environment, err := os.ReadFile(path)
		if err != nil || !holds(environment, "POD_NAME="+pod) {
			continue // most processes end while one looks
		}
		return strconv.Atoi(filepath.Base(filepath.Dir(path)))
	}
	return 0, fmt.Errorf("no process of pod %s", pod)
}

var resident = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// memory is the resident set of the process of a pod's container, in bytes.
func memory(proc, pod string) (int, error) {
	pid, err := processOf(proc, pod)
	if err != nil {
		return 0, err
	}
	status, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	found := resident.FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("pod %s: its process has no resident set", pod)
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	return kilobytes << 10, err
}

func holds(environment []byte, entry string) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if string(variable) == entry {
			return true
		}
	}
	return false
}
