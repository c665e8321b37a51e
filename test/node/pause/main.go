// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause is the first process of a pod: it does nothing, so that the pod's namespaces last,
// and takes in what containers orphan.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ends, orphans := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(orphans, syscall.SIGCHLD)
	for {
		select {
		case <-ends:
			return
		case <-orphans:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}
