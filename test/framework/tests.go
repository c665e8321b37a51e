// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// Root is the checkout, from the folder of a suite.
const Root = "../.."

// Tests are those of a package, and what they share.
type Tests struct {
	// Context ends at SIGINT or SIGTERM, and when the tests have ended. A cluster lives as long.
	Context context.Context

	stop     context.CancelFunc
	parallel int

	mu   sync.Mutex // guards ends
	ends []func() error
}

// NewTests returns tests that run at most parallel at a time. They mostly wait, so processors do not limit them; the flag
// -parallel has the last word.
func NewTests(parallel int) *Tests {
	t := &Tests{parallel: parallel}
	t.Context, t.stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	return t
}

// Main runs the tests, and then ends what they shared, the latest first. It returns the exit code.
func (t *Tests) Main(m *testing.M) int {
	defer t.stop()
	debug.SetGCPercent(400)       // a fifth of the time of a test is that of collecting garbage
	log.SetLogger(logr.Discard()) // of the client library; the operator's own is read from its file
	// Before the flags are parsed.
	if err := flag.Set("test.parallel", strconv.Itoa(t.parallel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, end := range slices.Backward(t.ends) {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// AtEnd has a function called when the tests have ended. Its error fails them.
func (t *Tests) AtEnd(end func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = append(t.ends, end)
}

// Shared returns a function that opens something in the first test that needs it, and returns it to all. Where it fails,
// all of them fail.
func Shared[T any](open func() (T, error)) func(*testing.T) T {
	once := sync.OnceValues(open)
	return func(t *testing.T) T {
		t.Helper()
		opened, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
}

// Servers opens servers for Options.Servers. They end after the clusters that are opened behind them.
func (t *Tests) Servers() (*externalnet.Servers, error) {
	servers, err := externalnet.Open()
	if err == nil {
		t.AtEnd(servers.Close)
	}
	return servers, err
}

// Open opens a cluster of this checkout, which is closed at the end. Its progress is on standard error.
func (t *Tests) Open(o Options) (*Cluster, error) { return t.shared(Open(t.Context, own(o))) }

// OpenReplicas is Open with servers outside, and starts two patient replicas with the arguments. Any of them may be lost,
// and is replaced.
func (t *Tests) OpenReplicas(o Options, args ...string) (c *Cluster, err error) {
	if o.Servers, err = t.Servers(); err != nil {
		return nil, err
	}
	if c, err = t.Open(o); err != nil {
		return nil, err
	}
	c.args = Patient(args...)
	return c, c.Fill(t.Context)
}

// OpenBare is Open of a cluster that has Fairlead's CRDs alone.
func (t *Tests) OpenBare(o Options) (*Cluster, error) { return t.shared(openBare(t.Context, own(o))) }

// shared has a cluster closed at the end, when the logs of its replicas must hold no complaint.
func (t *Tests) shared(c *Cluster, err error) (*Cluster, error) {
	if err == nil {
		t.AtEnd(func() error { return errors.Join(NoComplaints(c.Complaints()), c.Close()) })
	}
	return c, err
}

// OpenFor opens a cluster for one test, with which it ends. Its logs are the test's to look at, and are
// shown where it fails.
func (t *Tests) OpenFor(test *testing.T, o Options) *Cluster {
	test.Helper()
	c, err := Open(t.Context, own(o))
	if err != nil {
		test.Fatal(err)
	}
	test.Cleanup(func() {
		if test.Failed() {
			c.showLogs(test)
		}
		if err := c.Close(); err != nil {
			test.Error(err)
		}
	})
	return c
}

func own(o Options) Options {
	o.Root, o.Output = Root, os.Stderr
	o.Env = append([]string{"GOGC=200"}, o.Env...) // the default of the program is for a container's memory, not for a suite
	return o
}

// LogFolder makes a folder with room for a folder of logs for each cluster. It outlives them: at the end, no line of a
// replica's log there may hold any of the texts.
func (t *Tests) LogFolder(never ...string) (string, error) {
	folder, err := os.MkdirTemp("", "fairlead-logs-")
	if err != nil {
		return "", err
	}
	t.AtEnd(func() error {
		return errors.Join(NoComplaints(linesIn(filepath.Join(folder, "*", "fairlead-*.log"), never)), os.RemoveAll(folder))
	})
	return folder, nil
}

// linesIn returns the lines of files that hold any of the texts. There must be a file.
func linesIn(pattern string, texts []string) []string {
	files, err := filepath.Glob(pattern)
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
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
				found = append(found, fmt.Sprintf("%s: %.400s", filepath.Base(file), strings.TrimSpace(line)))
			}
		}
	}
	return found
}
