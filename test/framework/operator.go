// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Operator is which program the replicas run.
type Operator string

const (
	// Shipped is bin/fairlead, which `make build` builds.
	Shipped Operator = ""
	// Outside is the same operator, whose connections to addresses outside end at the servers of
	// test/externalnet on this host.
	Outside Operator = "outside"
)

// binary returns the path of the operator's program. What is not shipped is built, as far as it is
// not current.
func (o Operator) binary(ctx context.Context, root string) (string, error) {
	switch o {
	case Shipped:
		return filepath.Join(root, "bin", "fairlead"), nil
	case Outside:
		path := filepath.Join(root, "bin", "fairlead-operator-outside")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/operator")
		build.Dir = filepath.Join(root, "test")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as everything is built, for the build cache's sake
		if output, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build test/cmd/operator: %w: %s", err, strings.TrimSpace(string(output)))
		}
		return path, nil
	default:
		return "", fmt.Errorf("operator %q: must be %q or %q", o, Shipped, Outside)
	}
}
