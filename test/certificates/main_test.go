// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// root of the checkout.
const root = "../.."

var (
	// suite is the context of everything: the clusters live as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	// logs is a folder for the logs of all replicas, one folder for each test. They outlive the
	// clusters, to be searched.
	logs string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	defer closing()
	var err error
	if logs, err = os.MkdirTemp("", "fairlead-certificates-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(logs) }()
	// Tests mostly wait, so that processors do not limit them; -parallel does.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if problems := forbidden(); len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "the operator's logs hold what they never should:\n%s\n", strings.Join(problems, "\n"))
		code = 1
	}
	return code
}

// forbidden are the lines of all replicas' logs that tell of a crash or of a missing permission, or
// hold a key. No test provokes any of them.
func forbidden() []string {
	files, err := filepath.Glob(filepath.Join(logs, "*", "fairlead-*.log"))
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			found = append(found, err.Error())
		}
		for line := range strings.Lines(string(content)) {
			for _, never := range []string{"PRIVATE KEY-----", "panic", "goroutine ", "forbidden"} {
				if strings.Contains(line, never) {
					found = append(found, fmt.Sprintf("%s: %.400s", filepath.Base(file), strings.TrimSpace(line)))
				}
			}
		}
	}
	return found
}
