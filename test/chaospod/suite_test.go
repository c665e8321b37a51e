// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

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

// root is the checkout.
const root = "../.."

var (
	// suiteContext is the context of everything: the cluster lives as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openReplicas)
	opened *framework.Replicas
	// servers is what ExternalServices lead to. It ends after the operator that looks at it.
	servers *externalnet.Servers

	// pardons are namespaces in which the operator is rightly refused.
	pardons   []string
	pardonsMu sync.Mutex
)

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 16, end)) }

func end() error {
	defer closing()
	var errs []error
	if opened != nil {
		problems := slices.DeleteFunc(opened.Complaints(), func(line string) bool {
			return slices.ContainsFunc(pardons, func(namespace string) bool { return strings.Contains(line, namespace) })
		})
		errs = append(errs, framework.NoComplaints(problems), opened.Close())
	}
	if servers != nil {
		errs = append(errs, servers.Close())
	}
	return errors.Join(errs...)
}

func openReplicas() (*framework.Replicas, error) {
	var err error
	if servers, err = externalnet.Open(); err != nil {
		return nil, err
	}
	opened, err = framework.OpenReplicas(suiteContext, framework.Options{
		Root: root, Operator: framework.Outside, Output: os.Stderr, Cluster: cluster.Options{Nodes: 3},
	}, "--max-restarts=500", "--dns-nameservers="+servers.DNS.Addr().String())
	return opened, err
}

// suite is what a test has of it: a namespace of its own, and the operator that all tests share.
type suite struct {
	*testing.T
	replicas  *framework.Replicas
	client    client.WithWatch
	namespace string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	t.Parallel()
	return newSerialSuite(t)
}

// newSerialSuite is one beside which no other test runs.
func newSerialSuite(t *testing.T) *suite {
	t.Helper()
	replicas, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, replicas: replicas, client: replicas.Client}
	s.namespace, err = framework.NewNamespace(t.Context(), s.client)
	s.must(err)
	return s
}
