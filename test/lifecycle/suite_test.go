// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

var (
	// suiteContext is the context of everything: the clusters live as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	// clusters are control planes with Fairlead, of which each test has one for itself. There are as many
	// as tests run at once.
	clusters struct {
		sync.Mutex
		opened int
		logs   map[*framework.Cluster]string // the folders of all
		free   []*framework.Cluster
	}
	// logs holds those folders. It outlives the clusters, to be searched.
	logs string
)

// atOnce is how many tests run at once: most of their time they wait for leases and for processes.
const atOnce = 5

func TestMain(m *testing.M) {
	var err error
	if logs, err = os.MkdirTemp("", "fairlead-lifecycle-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(framework.Main(m, atOnce, end))
}

func end() error {
	defer closing()
	defer func() { _ = os.RemoveAll(logs) }()
	clusters.Lock()
	defer clusters.Unlock()
	if len(clusters.logs) == 0 {
		return nil
	}
	var errs []error
	for c, folder := range clusters.logs {
		errs = append(errs, noKeyIn(folder, c), c.Close())
	}
	return errors.Join(append(errs, framework.NoComplaints(forbidden()))...)
}

// takeCluster returns a cluster that is the test's alone until it ends.
func takeCluster(t *testing.T) *framework.Cluster {
	t.Helper()
	s, number := freeCluster()
	if s == nil {
		folder := filepath.Join(logs, strconv.Itoa(number))
		if err := os.Mkdir(folder, 0o750); err != nil {
			t.Fatal(err)
		}
		var err error
		s, err = framework.Open(suiteContext, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{LogFolder: folder}})
		if err != nil {
			t.Fatal(err)
		}
		clusters.Lock()
		if clusters.logs == nil {
			clusters.logs = map[*framework.Cluster]string{}
		}
		clusters.logs[s] = folder
		clusters.Unlock()
	}
	t.Cleanup(func() {
		clusters.Lock()
		defer clusters.Unlock()
		clusters.free = append(clusters.free, s)
	})
	return s
}

// freeCluster returns a cluster that no test has, or nil and the number of one that is to be opened.
func freeCluster() (*framework.Cluster, int) {
	clusters.Lock()
	defer clusters.Unlock()
	if last := len(clusters.free) - 1; last >= 0 {
		s := clusters.free[last]
		clusters.free = clusters.free[:last]
		return s, 0
	}
	clusters.opened++
	return nil, clusters.opened
}

// logsOf is the folder of a cluster's logs.
func logsOf(s *framework.Cluster) string {
	clusters.Lock()
	defer clusters.Unlock()
	return clusters.logs[s]
}

// noKeyIn fails where a log of a cluster's replicas holds a part of its root's key. Where the last test
// left no root, there is nothing to compare with.
func noKeyIn(folder string, s *framework.Cluster) error {
	raw, err := s.Kubectl(suiteContext, "get", "secret", rootSecret, "-n", framework.Namespace, "--ignore-not-found", "-o", `jsonpath={.data.tls\.key}`)
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

// suite is one test on a cluster. No replica of another test runs there, and the Lease is not held.
type suite struct {
	*testing.T
	*framework.Cluster
	kube   kubernetes.Interface
	client dynamic.Interface
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{T: t, Cluster: takeCluster(t)}
	config := s.admin()
	var err error
	s.kube, err = kubernetes.NewForConfig(config)
	s.must(err)
	s.client, err = dynamic.NewForConfig(config)
	s.must(err)
	s.freeLeases()
	return s
}
