// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

var (
	// suiteContext is the context of everything: the clusters live as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	// logs is a folder for the logs of all replicas, one folder for each test. They outlive the
	// clusters, to be searched.
	logs string
)

func TestMain(m *testing.M) {
	var err error
	if logs, err = os.MkdirTemp("", "fairlead-certificates-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(framework.Main(m, 4, func() error {
		defer closing()
		return errors.Join(framework.NoComplaints(forbidden()), os.RemoveAll(logs))
	}))
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

// suite is one test on a cluster of its own: what cert-manager has made must belong to no other test.
type suite struct {
	*testing.T
	*framework.Cluster
	kube   kubernetes.Interface
	client dynamic.Interface
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	folder := filepath.Join(logs, t.Name())
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	opened, err := framework.Open(suiteContext, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{LogFolder: folder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &suite{T: t, Cluster: opened}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	s.must(err)
	config.QPS = -1
	s.kube, err = kubernetes.NewForConfig(config)
	s.must(err)
	s.client, err = dynamic.NewForConfig(config)
	s.must(err)
	return s
}
