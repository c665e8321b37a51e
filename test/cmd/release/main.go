// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release is `make release`: it writes all files of a release to a folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fairlead-dev/fairlead/test/release"
)

func main() {
	root := flag.String("root", "..", "the checkout")
	out := flag.String("out", "", "the folder that is written to; it must be empty or not exist")
	version := flag.String("version", "", "the version, such as v0.1.0")
	repository := flag.String("image", "", "the repository of the image, without a tag")
	only := flag.String("platforms", "", "the platforms that programs are built for, such as \"linux-amd64 darwin-arm64\" (default: all)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *root, *out, *version, *repository, strings.Fields(*only)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out, version, repository string, only []string) error {
	if out == "" || version == "" || repository == "" {
		return fmt.Errorf("--out, --version and --image are required")
	}
	platforms, err := release.ParsePlatforms(only)
	if err != nil {
		return err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	source, err := release.Checkout(ctx, root, version)
	if err != nil {
		return err
	}
	return release.Write(ctx, release.Options{Source: source, Out: out, Repository: repository, Platforms: platforms})
}
