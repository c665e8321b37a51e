// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command skewed compiles the operator with a clock that FAIRLEAD_TEST_SKEW sets off, in whole seconds, such as 600 or
// -600: what time.Now returns, and so the certificates that it signs and the times that it compares. Durations stay those of
// the monotonic clock. It takes two to three minutes, since all of Go's library is compiled again.
//
//	go run ./cmd/skewed --root=.. --out=../bin/fairlead-skewed
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
	"strings"
)

const (
	// read is where time.Now reads the clock, in Go's library.
	read = "	sec, nsec, mono := runtimeNow()\n	if mono == 0 {\n"
	skew = `package time

import "syscall"

var skew = func() int64 {
	text, _ := syscall.Getenv("FAIRLEAD_TEST_SKEW")
	sign, n := int64(1), int64(0)
	for _, digit := range text {
		switch {
		case digit == '-':
			sign = -1
		case digit >= '0' && digit <= '9':
			n = 10*n + int64(digit-'0')
		}
	}
	return sign * n
}()
`
)

func main() {
	root := flag.String("root", "..", "the checkout")
	out := flag.String("out", "../bin/fairlead-skewed", "where the program is written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := build(ctx, *root, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context, root, out string) (err error) {
	out, err = filepath.Abs(out)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "skewed-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	overlay, err := writeOverlay(ctx, folder)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay="+overlay, "-ldflags=-s -w", "-o", out, "./cmd/fairlead")
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}

// writeOverlay writes what replaces files of package time, and returns the path of the overlay.
func writeOverlay(ctx context.Context, folder string) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	library := filepath.Join(strings.TrimSpace(string(output)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), read) != 1 {
		return "", fmt.Errorf("%s does not read the clock as expected", filepath.Join(library, "time.go"))
	}
	changed := strings.Replace(string(source), read, strings.Replace(read, "()\n", "()\n	sec += skew\n", 1), 1)
	replace := map[string]string{}
	for name, content := range map[string]string{"time.go": changed, "skew.go": skew} {
		replace[filepath.Join(library, name)] = filepath.Join(folder, name)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}
