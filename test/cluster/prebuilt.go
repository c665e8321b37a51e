// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// IndexVariable names the index of archives that setup-envtest downloads from, such as that of a mirror. Default: the
// one that setup-envtest has.
const IndexVariable = "FAIRLEAD_ENVTEST_INDEX"

const (
	setupEnvtest = "sigs.k8s.io/controller-runtime/tools/setup-envtest@v0.25.1"
	// downloadTimeout is how long a download may take: the archives have some 60 MiB.
	downloadTimeout = 10 * time.Minute
)

// prebuilt returns the folder of the programs that setup-envtest has on this machine, or else downloads, for the minor
// version of the pins: etcd, kube-apiserver and kubectl. It verifies what it downloads.
func (b *builder) prebuilt(ctx context.Context) (string, error) {
	use := b.setupEnvtest()
	if folder, err := runGo(ctx, append(use, "--installed-only")...); err == nil {
		return folder, nil
	}
	if index := os.Getenv(IndexVariable); index != "" {
		use = append(use, "--index="+index)
	}
	b.printf("downloading etcd, kube-apiserver and kubectl by setup-envtest ...")
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	return runGo(ctx, use...)
}

// setupEnvtest returns the arguments with which the Go tool runs setup-envtest for the minor version of the pins.
func (b *builder) setupEnvtest() []string {
	version := strings.TrimPrefix(b.pins[controlPlanePins].versions[kubernetesModule], "v")
	return []string{"run", setupEnvtest, "use", version[:strings.LastIndexByte(version, '.')] + ".x", "--print=path"}
}

// isPrebuilt reports whether setup-envtest has the program.
func (p program) isPrebuilt() bool {
	return slices.Contains([]string{Etcd, APIServer, Kubectl}, p.name)
}

// runGo runs the Go tool and returns what it prints.
func runGo(ctx context.Context, args ...string) (string, error) {
	var problems bytes.Buffer
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are those of this file
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	command.Stderr, command.WaitDelay = &problems, time.Second
	output, err := command.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(problems.String()), "\n")
		return "", errors.Join(fmt.Errorf("setup-envtest: %w: %s", err, lines[0]), context.Cause(ctx))
	}
	return strings.TrimSpace(string(output)), nil
}
