// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// buildWithin is how long the first build of the controllers of another project may take.
const buildWithin = 15 * time.Minute

// StartCertManager applies cert-manager's CRDs, as they stand in its module, and runs its own
// controllers with further arguments. It returns when they are ready.
func (c *Cluster) StartCertManager(ctx context.Context, args ...string) error {
	program, err := build(ctx, c.root, "certmanager", "./cmd/certmanager")
	if err != nil {
		return err
	}
	module, err := goIn(ctx, c.root, "certmanager", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	if err != nil {
		return err
	}
	if err := c.define(ctx, filepath.Join(module, "deploy", "crds")); err != nil {
		return err
	}
	var health string
	_, err = c.Run(ctx, cluster.Spec{
		Name: "cert-manager",
		Path: program,
		Args: func() ([]string, error) {
			port, err := loopback.FreePort()
			if err != nil {
				return nil, err
			}
			health = fmt.Sprintf("127.0.0.1:%d", port)
			return append([]string{"--kubeconfig=" + c.Kubeconfig(), "--health-bind-address=" + health}, args...), nil
		},
		Ready: func(ctx context.Context) error { return answers(ctx, "http://"+health+"/readyz") },
	})
	return err
}

// answers is nil where a URL answers 200.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// build returns the path of a program of the module in a folder of test, built as far as it is not current. Others may build
// it at the same time.
func build(ctx context.Context, root, module, program string) (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", module))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := Eventually(ctx, buildWithin, func(context.Context) error {
		return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}); err != nil {
		return "", fmt.Errorf("lock %s.lock: %w", path, err)
	}
	_, err = goIn(ctx, root, module, "build", "-trimpath", "-ldflags=-s -w", "-o", path, program)
	return path, err
}

// goIn runs the Go tool in the module in a folder of test.
func goIn(ctx context.Context, root, module string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = filepath.Join(root, "test", module)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off") // as everything is built, for the build cache's sake
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in test/%s: %w: %s", strings.Join(args, " "), module, err, problems.String())
	}
	return strings.TrimSpace(string(output)), nil
}
