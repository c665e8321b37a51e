// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package reloader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// helmModule is the program that installs charts.
const helmModule = "helm.sh/helm/v4/cmd/helm@v4.3.1"

// build builds Helm, Ginkgo and the suites.
func (s *stage) build(ctx context.Context) error {
	module, err := os.ReadFile(filepath.Join(s.Checkout, "go.mod"))
	if err != nil {
		return fmt.Errorf("the checkout of Reloader: %w", err)
	}
	if !strings.HasPrefix(string(module), "module github.com/stakater/Reloader\n") {
		return fmt.Errorf("%s is no checkout of github.com/stakater/Reloader", s.Checkout)
	}
	if err := s.lay(); err != nil {
		return err
	}
	modules := filepath.Join(s.folder, "modules", "go.mod")
	for _, replace := range s.Replace {
		if err := s.goIn(ctx, filepath.Dir(modules), "mod", "edit", "-replace="+replace); err != nil {
			return err
		}
	}
	s.printf("building Helm, Ginkgo and the suites")
	s.helm = filepath.Join(s.folder, "bin", "helm")
	if err := s.goIn(ctx, s.folder, "install", helmModule); err != nil {
		return err
	}
	from := []string{"-mod=mod", "-modfile=" + modules}
	ginkgo := append([]string{"build", "-o", filepath.Join(s.folder, "ginkgo")}, from...)
	if err := s.goIn(ctx, s.Checkout, append(ginkgo, "github.com/onsi/ginkgo/v2/ginkgo")...); err != nil {
		return err
	}
	for _, suite := range s.Suites {
		test := append([]string{"test", "-c", "-ldflags=-s -w", "-o", s.binary(suite)}, from...)
		if err := s.goIn(ctx, s.Checkout, append(test, "./test/e2e/"+suite)...); err != nil {
			return err
		}
	}
	return nil
}

// binary is the file of a suite. Ginkgo runs it in its own folder, above which the suite looks for a go.mod, and beside that for
// the chart.
func (s *stage) binary(suite string) string {
	return filepath.Join(s.folder, "checkout", "test", "e2e", suite, suite+".test")
}

// lay lays out what the suites expect around them, without a file in the checkout, and the program helm.
func (s *stage) lay() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	around, modules := filepath.Join(s.folder, "checkout"), filepath.Join(s.folder, "modules")
	// The suites stay, since those that are current are not linked again.
	err = errors.Join(os.RemoveAll(filepath.Join(around, "deployments")), os.RemoveAll(filepath.Join(around, "go.mod")),
		os.RemoveAll(modules), os.MkdirAll(modules, 0o750), s.link("helm", self))
	for _, suite := range Suites() {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(s.binary(suite)), 0o750))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, unread := os.ReadFile(filepath.Join(s.Checkout, name))
		err = errors.Join(err, unread, os.WriteFile(filepath.Join(modules, name), content, 0o600))
	}
	return errors.Join(err, os.Symlink(filepath.Join(s.Checkout, "deployments"), filepath.Join(around, "deployments")),
		os.Symlink(filepath.Join(modules, "go.mod"), filepath.Join(around, "go.mod")))
}

// goIn runs the Go tool in a folder.
func (s *stage) goIn(ctx context.Context, folder string, args ...string) error {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off", "GOBIN="+filepath.Join(s.folder, "bin"))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s in %s: %w: %s\nWhere the proxy does not have a module, REPLACE=MODULE=FOLDER names a checkout of it",
			strings.Join(args, " "), folder, err, strings.TrimSpace(string(output)))
	}
	return nil
}
