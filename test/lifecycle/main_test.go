// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

var (
	// suite is the context of everything: the clusters live as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	// stages are control planes with Fairlead, of which each test has one for itself. There are as many
	// as tests run at once.
	stages struct {
		sync.Mutex
		opened int
		logs   map[*framework.Cluster]string // the folders of all
		free   []*framework.Cluster
	}
	// logs holds those folders. It outlives the stages, to be searched.
	logs string
)

// atOnce is how many tests run at once: most of their time they wait for leases and for processes.
const atOnce = 5

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	defer closing()
	// Before the flags are parsed: -parallel has the last word.
	err := flag.Set("test.parallel", strconv.Itoa(atOnce))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if logs, err = os.MkdirTemp("", "fairlead-lifecycle-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(logs) }()
	code = m.Run()
	stages.Lock()
	defer stages.Unlock()
	if len(stages.logs) == 0 {
		return code
	}
	for s, folder := range stages.logs {
		if err := errors.Join(noKeyIn(folder, s), s.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if problems := forbidden(); len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "the operator's logs hold what they never should:\n%s\n", strings.Join(problems, "\n"))
		code = 1
	}
	return code
}

// takeStage returns a stage that is the test's alone until it ends.
func takeStage(t *testing.T) *framework.Cluster {
	t.Helper()
	s, number := freeStage()
	if s == nil {
		folder := filepath.Join(logs, strconv.Itoa(number))
		if err := os.Mkdir(folder, 0o750); err != nil {
			t.Fatal(err)
		}
		var err error
		s, err = framework.Open(suite, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{LogFolder: folder}})
		if err != nil {
			t.Fatal(err)
		}
		stages.Lock()
		if stages.logs == nil {
			stages.logs = map[*framework.Cluster]string{}
		}
		stages.logs[s] = folder
		stages.Unlock()
	}
	t.Cleanup(func() {
		stages.Lock()
		defer stages.Unlock()
		stages.free = append(stages.free, s)
	})
	return s
}

// freeStage returns a stage that no test has, or nil and the number of one that is to be opened.
func freeStage() (*framework.Cluster, int) {
	stages.Lock()
	defer stages.Unlock()
	if last := len(stages.free) - 1; last >= 0 {
		s := stages.free[last]
		stages.free = stages.free[:last]
		return s, 0
	}
	stages.opened++
	return nil, stages.opened
}

// logsOf is the folder of a stage's logs.
func logsOf(s *framework.Cluster) string {
	stages.Lock()
	defer stages.Unlock()
	return stages.logs[s]
}

// noKeyIn fails where a log of a stage's replicas holds a part of its root's key. Where the last test
// left no root, there is nothing to compare with.
func noKeyIn(folder string, s *framework.Cluster) error {
	raw, err := s.Kubectl(suite, "get", "secret", rootSecret, "-n", framework.Namespace, "--ignore-not-found", "-o", `jsonpath={.data.tls\.key}`)
	if err != nil || raw == "" {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return err
	}
	found, err := keyMaterial(folder, key)
	if err == nil && len(found) > 0 {
		err = errors.New(strings.Join(found, "\n"))
	}
	return err
}

// forbidden are the lines of all replicas' logs that tell of a crash or hold a key. No test
// provokes either.
func forbidden() []string {
	files, err := filepath.Glob(filepath.Join(logs, "*", "fairlead-*.log"))
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
