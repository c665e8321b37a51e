// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// The operator is configured to wait for 15 seconds instead of 150, and is otherwise as shipped.
func TestWatchesThatAProxyMutesAreStartedAgain(t *testing.T) {
	t.Parallel()
	own, err := framework.Open(tests.Context, framework.Options{
		Root: framework.Root, Operator: framework.Outside, Env: []string{"FAIRLEAD_SILENCE=15s"}, Output: os.Stderr,
		Cluster: cluster.Options{LogFolder: filepath.Join(logs(t), "silence")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := &suite{framework.Test{T: t, Cluster: own}}
	p := s.newFaultProxy()
	namespace := s.NewNamespace()
	r := s.start("--kubeconfig=" + p.Kubeconfig)
	r.reconciles()
	s.create(namespace, "before")
	s.reconciled(namespace, "before")
	began := time.Now()
	open := p.Connections()
	p.Add(faultproxy.Fault{Match: faultproxy.Any, Mute: true, Old: true})
	s.create(namespace, "muted")
	s.Eventually(func() error {
		status, err := r.status()
		if err != nil {
			return err
		}
		return framework.Holds(status.fact("API server"), "nothing has arrived on the watch of")
	})
	s.reconciled(namespace, "muted")
	t.Logf("published %s after the watches fell silent; %d connections since", time.Since(began).Round(time.Millisecond), p.Connections()-open)
}
