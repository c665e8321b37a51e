// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
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

// podCIDR lies in a range that test/externalnet has servers stand for.
const podCIDR = "198.19.0.0/16"

// shared is the cluster that all tests share, with two replicas, three nodes, and the servers outside.
type shared struct {
	*framework.Replicas
	servers *externalnet.Servers

	mu      sync.Mutex // guards what follows
	address int        // how many addresses outside were given away
	pardons []string   // namespaces in which the operator is rightly refused
}

var (
	// suiteContext is the context of everything: the cluster lives as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openShared)
	opened *shared
)

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 16, end)) }

// end ends the operator before the servers that it looks at.
func end() error {
	defer closing()
	if opened == nil {
		return nil
	}
	var errs []error
	if opened.Replicas != nil {
		errs = append(errs, framework.NoComplaints(opened.logged()), opened.Close())
	}
	return errors.Join(append(errs, opened.servers.Close())...)
}

func openShared() (*shared, error) {
	servers, err := externalnet.Open()
	if err != nil {
		return nil, err
	}
	// Suites that run on this host at the same time should not want the same addresses.
	p := &shared{servers: servers, address: os.Getpid() % 120 * 500}
	opened = p
	p.Replicas, err = framework.OpenReplicas(suiteContext, framework.Options{
		Root: root, Operator: framework.Outside, Output: os.Stderr,
		Cluster: cluster.Options{Nodes: 3, PodCIDR: podCIDR},
	},
		"--dns-nameservers="+servers.DNS.Addr().String(), "--max-restarts=500")
	if err != nil {
		return nil, err
	}
	return p, nil
}

// logged are the complaints in the logs of all replicas that ever ran, but for those that a test
// provoked.
func (p *shared) logged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(p.Complaints(), func(line string) bool {
		return slices.ContainsFunc(p.pardons, func(namespace string) bool { return strings.Contains(line, `"`+namespace+`"`) })
	})
}

// pardoned says that the operator is refused in the test's namespace, and may say so.
func (s *suite) pardoned() {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.pardons = append(s.shared.pardons, s.namespace)
}

// suite is what a test has of it: a namespace of its own.
type suite struct {
	*testing.T
	shared    *shared
	client    client.WithWatch
	namespace string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	p, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, shared: p, client: p.Client}
	s.namespace, err = framework.NewNamespace(t.Context(), s.client)
	s.must(err)
	return s
}
