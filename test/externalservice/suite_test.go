// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// shared is the cluster that all tests share, with two replicas, and the servers outside.
type shared struct {
	*framework.Replicas
	servers *externalnet.Servers

	mu      sync.Mutex // guards what follows
	address int        // how many addresses outside were given away
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
		errs = append(errs, framework.NoComplaints(opened.Complaints()), opened.Close())
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
	p.Replicas, err = framework.OpenReplicas(suiteContext, framework.Options{Root: root, Operator: framework.Outside, Output: os.Stderr},
		"--dns-nameservers="+servers.DNS.Addr().String(), "--drain-period=1s")
	if err != nil {
		return nil, err
	}
	return p, nil
}

// suite is what a test has of it: a namespace of its own, and the servers outside.
type suite struct {
	*testing.T
	Servers   *externalnet.Servers
	shared    *shared
	client    client.Client
	namespace string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	p, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, Servers: p.servers, shared: p, client: p.Client}
	s.namespace, err = framework.NewNamespace(t.Context(), s.client)
	s.must(err)
	return s
}
