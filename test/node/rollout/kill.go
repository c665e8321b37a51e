// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killContainer ends the process of a pod's container at once, as the kernel does that is out of
// memory. It knows the process by the name of its pod, which the shipped manifests give it.
func killContainer(proc, pod string) error {
	environments, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "environ"))
	if err != nil {
		return err
	}
	for _, path := range environments {
		environment, err := os.ReadFile(path)
		if err != nil || !holds(environment, "POD_NAME="+pod) {
			continue // most processes end while one looks
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Errorf("no process of pod %s", pod)
}

func holds(environment []byte, entry string) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if string(variable) == entry {
			return true
		}
	}
	return false
}
