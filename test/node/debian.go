// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// brought are the programs that the packages bring.
var brought = []string{"runc", "nft"}

// installed says whether the host has what Debian would bring.
func installed() bool {
	for _, name := range brought {
		if _, err := exec.LookPath(name); err != nil {
			return false
		}
	}
	return true
}

// unpack downloads the packages, with what they need and the host lacks, and unpacks them into
// folder. apt keeps its lists and archives there as well: nothing is installed, and the host's own
// package database is only read.
func unpack(ctx context.Context, folder string, output io.Writer) error {
	if _, err := os.Stat(filepath.Join(folder, ".complete")); err == nil {
		return nil
	}
	began := time.Now()
	work := folder + ".apt"
	defer func() { _ = os.RemoveAll(work) }() // a leftover costs room, and the next run removes it
	for _, stale := range []string{folder, work} {
		if err := os.RemoveAll(stale); err != nil {
			return fmt.Errorf("unpack Debian's packages: %w", err)
		}
	}
	archives := filepath.Join(work, "cache", "archives")
	for _, made := range []string{folder, filepath.Join(archives, "partial"), filepath.Join(work, "lists", "partial")} {
		if err := os.MkdirAll(made, 0o755); err != nil { //nolint:gosec // apt drops to a user who must read it
			return fmt.Errorf("unpack Debian's packages: %w", err)
		}
	}
	apt := func(args ...string) error {
		return said(ctx, "apt-get", append([]string{"-qq", "-o", "Dir::State::Lists=" + filepath.Join(work, "lists"),
			"-o", "Dir::Cache=" + filepath.Join(work, "cache"), "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"}, args...)...)
	}
	if err := apt("update"); err != nil {
		return err
	}
	if err := apt(append([]string{"install", "-y", "--download-only", "--no-install-recommends"}, packages...)...); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(archives, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if err := said(ctx, "dpkg-deb", "-x", deb, folder); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(output, "%s unpacked in %v\n", strings.Join(packages, " and "), time.Since(began).Round(100*time.Millisecond))
	return os.WriteFile(filepath.Join(folder, ".complete"), nil, 0o600)
}

// said runs a program to its end. What it said belongs to the error.
func said(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(output))
	}
	return nil
}
