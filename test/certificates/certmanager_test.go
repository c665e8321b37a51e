// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

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
	"github.com/fairlead-dev/fairlead/test/stage"
)

// buildCertManager answers the path of the program of test/certmanager, built as far as it is not
// current: some minutes the first time.
func buildCertManager(ctx context.Context) (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", "certmanager"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, path+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	_, err = inModule(ctx, "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/certmanager")
	return path, err
}

// inModule runs the Go tool in the module of test/certmanager, and answers what it prints.
func inModule(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, "test", "certmanager")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off") // as everything is built, for the build cache's sake
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in test/certmanager: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// lock takes a lock file, which the kernel frees when its holder dies.
func lock(ctx context.Context, path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = stage.Eventually(ctx, 15*time.Minute, func(context.Context) error {
		return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// installCertManager applies cert-manager's definitions, as they stand in its module, and runs its
// controllers and its CA injector.
func (s *scene) installCertManager() {
	s.Helper()
	program, err := buildCertManager(s.Context())
	s.must(err)
	module, err := inModule(s.Context(), "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	s.must(err)
	s.kubectl("apply", "--server-side", "-f", filepath.Join(module, "deploy", "crds"))
	s.must(stage.Established(s.Context(), func(ctx context.Context, args ...string) error {
		_, err := s.Kubectl(ctx, args...)
		return err
	}))
	var at string
	_, err = s.Stage.Run(s.Context(), cluster.Spec{
		Name: "cert-manager",
		Path: program,
		Args: func() ([]string, error) {
			port, err := loopback.FreePort()
			if err != nil {
				return nil, err
			}
			at = fmt.Sprintf("127.0.0.1:%d", port)
			return []string{"--kubeconfig=" + s.Kubeconfig(), "--health-bind-address=" + at}, nil
		},
		Ready: func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", nil)
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
		},
	})
	s.must(err)
}
