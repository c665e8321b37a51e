// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/stage"
)

// root of the checkout.
const root = "../.."

var (
	// suite is the context of everything: the clusters live as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	// open is the stage that all tests share. Its logs outlive it, to be searched.
	open   = sync.OnceValues(openStage)
	opened *stage.Stage
	logs   string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	defer closing()
	var err error
	if logs, err = os.MkdirTemp("", "fairlead-lifecycle-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(logs) }()
	code = m.Run()
	if opened == nil {
		return code
	}
	if err := opened.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if problems := forbidden(); len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "the operator's logs hold what they never should:\n%s\n", strings.Join(problems, "\n"))
		code = 1
	}
	return code
}

func openStage() (*stage.Stage, error) {
	s, err := stage.Open(suite, stage.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{LogFolder: logs}})
	opened = s
	return s, err
}

// forbidden are the lines of all replicas' logs that tell of a crash or hold a key. No test
// provokes either.
func forbidden() []string {
	files, err := filepath.Glob(filepath.Join(logs, "fairlead-*.log"))
	if err != nil || len(files) == 0 {
		return []string{fmt.Sprintf("no log of a replica was found: %v", err)}
	}
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			found = append(found, err.Error())
		}
		for line := range strings.Lines(string(content)) {
			for _, never := range []string{"PRIVATE KEY-----", "panic", "goroutine "} {
				if strings.Contains(line, never) {
					found = append(found, fmt.Sprintf("%s: %.300s", filepath.Base(file), strings.TrimSpace(line)))
				}
			}
		}
	}
	return found
}
