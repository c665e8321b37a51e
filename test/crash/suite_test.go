// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// shared is the cluster that all tests share. One replica answers admission and reconciles a namespace
// that is not there; those that are broken belong to a test each.
type shared struct {
	*framework.Cluster
	client client.WithWatch

	mu       sync.Mutex // guards what follows
	replicas []*framework.Replica
}

var (
	// suiteContext is the context of everything: the cluster lives as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openShared)
	opened *shared
)

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 24, end)) }

func end() error {
	defer closing()
	if opened == nil || opened.Cluster == nil {
		return nil
	}
	opened.mu.Lock()
	defer opened.mu.Unlock()
	return errors.Join(framework.NoComplaints(framework.Complaints(opened.replicas...)), opened.Close())
}

func openShared() (*shared, error) {
	p := &shared{}
	opened = p
	var err error
	if p.Cluster, err = framework.Open(suiteContext, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{Nodes: 3}}); err != nil {
		return nil, err
	}
	if p.client, err = framework.NewClient(p.Kubeconfig()); err != nil {
		return nil, err
	}
	if _, err := p.StartReplica(suiteContext, "--leader-elect=false", "--namespaces=nowhere"); err != nil {
		return nil, err
	}
	return p, p.Reachable(suiteContext)
}

// remember has the log of a replica read at the end.
func (p *shared) remember(r *framework.Replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replicas = append(p.replicas, r)
}

// suite is what a test has of it: a namespace of its own.
type suite struct {
	*testing.T
	shared    *shared
	client    client.WithWatch
	namespace string
	herd      *herd
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	p, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, shared: p, client: p.client}
	s.namespace, err = framework.NewNamespace(t.Context(), s.client)
	s.must(err)
	s.herd = s.watchPods()
	return s
}
