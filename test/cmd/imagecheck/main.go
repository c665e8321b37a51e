// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command imagecheck is `make image-check`: it builds the image twice, the second time from a copy of the
// sources in another folder, compares the bytes, looks at what is inside, and runs the program that is.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/image"
	"github.com/fairlead-dev/fairlead/test/release"
)

func main() {
	root := flag.String("root", "..", "the checkout")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *root); err != nil {
		fmt.Fprintln(os.Stderr, "imagecheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "fairlead-image-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	other := filepath.Join(folder, "copy", "of", "the sources")
	if err := copySources(ctx, root, other); err != nil {
		return err
	}
	// The sources are those of the working tree, so the commit is that of none.
	commit := strings.Repeat("0", 40)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var digests [2]string
	var archives [2][]byte
	for n, from := range []string{root, other} {
		source := &release.Source{Root: from, Version: "v0.0.0-check", Commit: commit, Date: at}
		var programs []string
		for _, p := range release.Platforms() {
			if p.OS != "linux" {
				continue
			}
			program := filepath.Join(folder, fmt.Sprint(n), p.String())
			if err := source.Build(ctx, p, program); err != nil {
				return err
			}
			programs = append(programs, program)
		}
		file := filepath.Join(folder, fmt.Sprint(n), release.ImageArchive)
		if digests[n], err = source.Image(file, "localhost/fairlead", programs...); err != nil {
			return err
		}
		if archives[n], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		return fmt.Errorf("two builds of the same sources differ: %s with %d bytes, and %s with %d", digests[0], len(archives[0]), digests[1], len(archives[1]))
	}
	fmt.Printf("twice the same %d bytes: %s\n", len(archives[0]), digests[0])
	return inspect(ctx, filepath.Join(folder, "1", release.ImageArchive), folder, commit, at)
}

// copySources copies what Git knows of, as it is in the working tree.
func copySources(ctx context.Context, root, to string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the sources: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EISDIR) {
			continue // removed, or a link to a folder
		}
		if err != nil {
			return err
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil { //nolint:gosec // below the new folder, by names of Git
			return err
		}
	}
	return nil
}

// inspect says what is wrong with the image, and runs its program, if it is for this machine.
func inspect(ctx context.Context, archive, folder, commit string, at time.Time) error {
	platforms, err := image.Inspect(archive)
	if err != nil {
		return err
	}
	var problems []string
	var names []string
	for _, p := range platforms {
		names = append(names, p.OS+"/"+p.Architecture)
		problems = append(problems, p.Problems()...)
		if !p.Created.Equal(at) {
			problems = append(problems, fmt.Sprintf("%s: created %s, want %s", p.Architecture, p.Created, at))
		}
		if len(p.Files) != 1 {
			continue
		}
		fmt.Printf("%s/%s: user %s, %q %q, program of %.1f MiB, %.1f MiB to download\n", p.OS, p.Architecture, p.Config.User,
			p.Config.Entrypoint, p.Config.Cmd, float64(len(p.Files[0].Content))/(1<<20), float64(p.Packed)/(1<<20))
		if runtime.GOOS != p.OS || runtime.GOARCH != p.Architecture {
			fmt.Printf("SKIPPED: the program for %s/%s is not run on %s/%s\n", p.OS, p.Architecture, runtime.GOOS, runtime.GOARCH)
			continue
		}
		if err := execute(ctx, p.Files[0].Content, folder, commit); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(names, want) {
		problems = append(problems, fmt.Sprintf("the image is for %q, want %q", names, want))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}

// execute asks the program what it was built from.
func execute(ctx context.Context, program []byte, folder, commit string) error {
	file := filepath.Join(folder, "program")
	if err := os.WriteFile(file, program, 0o700); err != nil { //nolint:gosec // a program
		return err
	}
	said, err := exec.CommandContext(ctx, file, "version", "--output=json").Output()
	if err != nil {
		return fmt.Errorf("fairlead version: %w", err)
	}
	var is struct{ Version, Commit, Date string }
	if err := json.Unmarshal(said, &is); err != nil {
		return fmt.Errorf("fairlead version: %w", err)
	}
	if is.Version != "v0.0.0-check" || is.Commit != commit || is.Date == "" {
		return fmt.Errorf("fairlead version does not say what it was built from: %s", said)
	}
	fmt.Printf("fairlead version: %s\n", bytes.Join(bytes.Fields(said), []byte(" ")))
	return nil
}
