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

// Source is a checkout of Reloader, which stays as it is, and the folder in which it is built.
type Source struct {
	Inputs
	// Folder takes what is built. It is absolute.
	Folder string
}

// Prepare writes the list of modules that Reloader is built with.
func (s Source) Prepare(ctx context.Context) error {
	module, err := os.ReadFile(filepath.Join(s.Checkout, "go.mod"))
	if err != nil {
		return fmt.Errorf("the checkout of Reloader: %w", err)
	}
	if !strings.HasPrefix(string(module), "module github.com/stakater/Reloader\n") {
		return fmt.Errorf("%s is no checkout of github.com/stakater/Reloader", s.Checkout)
	}
	folder := filepath.Dir(s.modules())
	err = errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o750))
	for _, name := range []string{"go.mod", "go.sum"} {
		content, unread := os.ReadFile(filepath.Join(s.Checkout, name))
		err = errors.Join(err, unread, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	for _, replace := range s.Replace {
		if err == nil {
			err = s.goIn(ctx, folder, "mod", "edit", "-replace="+replace)
		}
	}
	return err
}

// modules is the list.
func (s Source) modules() string { return filepath.Join(s.Folder, "modules", "go.mod") }

// Go runs the Go tool in the checkout, with the list of modules: `go build`, or `go test`, with arguments.
func (s Source) Go(ctx context.Context, verb string, args ...string) error {
	return s.goIn(ctx, s.Checkout, append([]string{verb, "-mod=mod", "-modfile=" + s.modules()}, args...)...)
}

// goIn runs the Go tool in a folder.
func (s Source) goIn(ctx context.Context, folder string, args ...string) error {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off", "GOBIN="+filepath.Join(s.Folder, "bin"))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s in %s: %w: %s\nWhere the proxy does not have a module, REPLACE=MODULE=FOLDER names a checkout of it",
			strings.Join(args, " "), folder, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// build builds Helm, Ginkgo and the suites.
func (s *stage) build(ctx context.Context) error {
	source := Source{Inputs: s.Inputs, Folder: s.folder}
	if err := source.Prepare(ctx); err != nil {
		return err
	}
	if err := s.lay(source); err != nil {
		return err
	}
	s.printf("building Helm, Ginkgo and the suites")
	s.helm = filepath.Join(s.folder, "bin", "helm")
	if err := source.goIn(ctx, s.folder, "install", helmModule); err != nil {
		return err
	}
	if err := source.Go(ctx, "build", "-o", filepath.Join(s.folder, "ginkgo"), "github.com/onsi/ginkgo/v2/ginkgo"); err != nil {
		return err
	}
	for _, suite := range s.Suites {
		if err := source.Go(ctx, "test", "-c", "-ldflags=-s -w", "-o", s.binary(suite), "./test/e2e/"+suite); err != nil {
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
func (s *stage) lay(source Source) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	around := filepath.Join(s.folder, "checkout")
	// The suites stay, since those that are current are not linked again.
	err = errors.Join(os.RemoveAll(filepath.Join(around, "deployments")), os.RemoveAll(filepath.Join(around, "go.mod")), s.link("helm", self))
	for _, suite := range Suites() {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(s.binary(suite)), 0o750))
	}
	return errors.Join(err, os.Symlink(filepath.Join(s.Checkout, "deployments"), filepath.Join(around, "deployments")),
		os.Symlink(source.modules(), filepath.Join(around, "go.mod")))
}
