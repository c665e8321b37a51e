// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// shared is the cluster that all tests share, with two replicas behind the webhook Service.
type shared struct {
	*framework.Cluster
	servers  *externalnet.Servers
	client   client.WithWatch
	replicas []*framework.Replica
}

var (
	// suiteContext is the context of everything: the clusters live as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openShared)
	bare   = sync.OnceValues(openBare)
	opened struct {
		sync.Mutex
		shared *shared
		bare   *cluster.Cluster
	}
)

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 6, end)) }

func end() error {
	defer closing()
	opened.Lock()
	defer opened.Unlock()
	var errs []error
	if s := opened.shared; s != nil {
		errs = append(errs, framework.NoComplaints(framework.Complaints(s.replicas...)), s.Close(), s.servers.Close())
	}
	if opened.bare != nil {
		errs = append(errs, opened.bare.Stop())
	}
	return errors.Join(errs...)
}

// openShared starts the shared cluster. The audit log holds every write of the operator's.
func openShared() (*shared, error) {
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		return nil, err
	}
	servers, err := externalnet.Open() // nothing leaves this host
	if err != nil {
		return nil, err
	}
	s, err := framework.Open(suiteContext, framework.Options{
		Root: root, Output: os.Stderr, Operator: framework.Outside, Cluster: cluster.Options{AuditPolicy: policy},
	})
	if err != nil {
		return nil, err
	}
	p := &shared{Cluster: s, servers: servers}
	opened.Lock()
	opened.shared = p
	opened.Unlock()
	if p.client, err = framework.NewClient(s.Kubeconfig()); err != nil {
		return nil, err
	}
	for range 2 {
		replica, err := s.StartReplica(suiteContext, append(slices.Clone(patient), "--dns-nameservers="+servers.DNS.Addr().String())...)
		if err != nil {
			return nil, err
		}
		p.replicas = append(p.replicas, replica)
	}
	return p, s.Reachable(suiteContext)
}

// openBare starts a control plane with nothing but Fairlead's CRDs on it, as they are
// generated: no conversion, no webhooks, no operator.
func openBare() (*cluster.Cluster, error) {
	c, err := cluster.Start(suiteContext, cluster.Options{
		Build: cluster.BuildOptions{Root: root}, WithoutControllerManager: true, Output: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	opened.Lock()
	opened.bare = c
	opened.Unlock()
	if _, err := c.Kubectl(suiteContext, "apply", "--server-side", "-f", filepath.Join(root, "config", "crd", "bases")); err != nil {
		return nil, err
	}
	return c, framework.Established(suiteContext, func(ctx context.Context, args ...string) error {
		_, err := c.Kubectl(ctx, args...)
		return err
	})
}

// suite is what a test has of it: a namespace of its own.
type suite struct {
	*testing.T
	shared    *shared // nil on the bare cluster
	kubectl   kubectl
	client    client.WithWatch
	namespace string
}

// newSuite makes a namespace on the shared cluster.
func newSuite(t *testing.T) *suite {
	t.Helper()
	p, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, shared: p, kubectl: p, client: p.client}
	s.makeNamespace()
	return s
}

// newBareSuite makes a namespace on the cluster that has the CRDs alone.
func newBareSuite(t *testing.T) *suite {
	t.Helper()
	c, err := bare()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, kubectl: c}
	s.client, err = framework.NewClient(c.Kubeconfig())
	s.must(err)
	s.makeNamespace()
	return s
}

// newOwnSuite makes a namespace on a cluster of its own, with one replica that has these arguments.
func newOwnSuite(t *testing.T, args ...string) (*suite, *framework.Cluster, *framework.Replica) {
	t.Helper()
	st, err := framework.Open(t.Context(), framework.Options{Root: root, Output: os.Stderr, Operator: framework.Outside,
		Cluster: cluster.Options{WithoutControllerManager: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &suite{T: t, kubectl: st}
	replica, err := st.StartReplica(t.Context(), append(slices.Clone(patient), args...)...)
	s.must(err)
	s.must(st.Reachable(t.Context()))
	s.client, err = framework.NewClient(st.Kubeconfig())
	s.must(err)
	s.makeNamespace()
	return s, st, replica
}
