// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/test/chart"
)

// The versions of the charts, and the tags of their images.
const (
	Former  = "v0.1.0"
	Current = "v0.1.1"
)

// FirstChart is the earliest commit that spells v1alpha1 as the present does: the longest way that an upgrade can have. No release has
// another spelling.
const FirstChart = "285deaa6"

// Chart is the folder of a version's chart, below that which WriteVersions was given.
func Chart(folder, version string) string { return filepath.Join(folder, version, "dist", "fairlead") }

// Program is the binary of a version. WriteVersions writes the one of Former.
func Program(folder, version string) string { return filepath.Join(folder, version, "fairlead") }

// WriteVersions writes the charts of both versions to a folder, and the program of Former: what a commit would have
// released. Without its history, as from an archive of the sources, that is the present chart with a CRD that lacks
// a short name, and the present program; there is then a note that says so.
func WriteVersions(ctx context.Context, root, folder, commit string) (note string, err error) {
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	sources, archive := filepath.Join(folder, "sources"), filepath.Join(folder, "sources.tar")
	defer func() { err = errors.Join(err, os.RemoveAll(sources), os.RemoveAll(archive)) }()
	if err := os.MkdirAll(sources, 0o750); err != nil {
		return "", err
	}
	for _, version := range []string{Former, Current} {
		if err := os.MkdirAll(filepath.Dir(Chart(folder, version)), 0o750); err != nil {
			return "", err
		}
	}
	if err := chart.Generate(filepath.Join(root, "config"), Chart(folder, Current), Current); err != nil {
		return "", err
	}
	if err := run(ctx, root, "git", "archive", "--output="+archive, commit); err != nil {
		note = fmt.Sprintf("there is no history (%v): the chart of before is the present one with a short name less", err)
		return note, errors.Join(older(root, folder), run(ctx, root, "go", "build", "-trimpath", "-o", Program(folder, Former), "./cmd/fairlead"))
	}
	for _, step := range []struct {
		at   string
		args []string
	}{
		{sources, []string{"tar", "-xf", archive}},
		{sources, []string{"go", "build", "-trimpath", "-o", Program(folder, Former), "./cmd/fairlead"}},
		{filepath.Join(sources, "test", "chart"), []string{
			"go", "run", "-trimpath", "./cmd/dist", "--config=" + filepath.Join(sources, "config"),
			"--out=" + filepath.Dir(Chart(folder, Former)), "--version=" + Former,
		}},
	} {
		if err := run(ctx, step.at, step.args[0], step.args[1:]...); err != nil {
			return "", err
		}
	}
	return "", nil
}

// older writes the present chart, with a CRD that lacks a short name, as that of Former.
func older(root, folder string) error {
	sources := filepath.Join(folder, "sources", "config")
	for from, to := range map[string]string{filepath.Join(root, "config"): sources, chart.Home(filepath.Join(root, "config")): chart.Home(sources)} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return err
		}
	}
	crd := filepath.Join(sources, "crd", "bases", "networking.fairlead.dev_externalservices.yaml")
	content, err := os.ReadFile(crd)
	if err != nil {
		return err
	}
	without := bytes.ReplaceAll(content, []byte("    shortNames:\n    - extsvc\n"), nil)
	if len(without) == len(content) {
		return errors.New("the CRD of ExternalServices has no short name to leave out")
	}
	if err := os.WriteFile(crd, without, 0o600); err != nil { //nolint:gosec // in a folder of the test
		return err
	}
	return chart.Generate(sources, Chart(folder, Former), Former)
}

func run(ctx context.Context, at, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = at
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOGC=400")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, bytes.TrimSpace(output))
	}
	return nil
}
