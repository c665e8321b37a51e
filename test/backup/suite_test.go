// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"os"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(5)
	open  = framework.Shared(openReplicas)
	nodes = cluster.Options{Nodes: 3}
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

func openReplicas() (*framework.Cluster, error) {
	return tests.OpenReplicas(framework.Options{Cluster: nodes})
}

// suite is a namespace with a world.
type suite struct {
	framework.Test
	database string // the address of what the ExternalService leads to
	world    string // the name of the ClusterRebootPolicy, and of its policy
}

// newSuite returns a namespace of a cluster, and a database outside of it.
func newSuite(t *testing.T, c *framework.Cluster) *suite {
	t.Helper()
	s := &suite{Test: framework.NewTest(t, c)}
	s.database = c.Servers.Address()
	_, err := c.Servers.TCP(s.database + ":5432")
	s.Must(err)
	return s
}

// openAnother opens another cluster with Fairlead for a test. No replica has ever run there.
func openAnother(t *testing.T, servers *externalnet.Servers) *framework.Cluster {
	t.Helper()
	return tests.OpenFor(t, framework.Options{Servers: servers, Cluster: nodes})
}

// runs starts a replica, which leads. It outlives the absence of the API server.
func (s *suite) runs() {
	s.Helper()
	_, err := s.StartReplica(s.Context(), framework.Patient()...)
	s.Must(err)
	s.Must(s.Reachable(s.Context()))
	s.Leader()
}
