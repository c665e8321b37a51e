// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(6)
	open  = framework.Shared(openReplicas)
	bare  = framework.Shared(openBare)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// openReplicas opens the shared cluster. The audit log holds every write of the operator's.
func openReplicas() (*framework.Cluster, error) {
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		return nil, err
	}
	collector, err := sent.listen()
	if err != nil {
		return nil, err
	}
	tracing, err := tracingConfiguration(collector)
	if err != nil {
		return nil, err
	}
	return tests.OpenReplicas(framework.Options{Cluster: cluster.Options{
		AuditPolicy: policy, APIServerFlags: []string{"--tracing-config-file=" + tracing},
	}}, "--set=tracing.endpoint="+collector)
}

// openBare opens a cluster that has the CRDs alone.
func openBare() (*framework.Cluster, error) {
	return tests.OpenBare(framework.Options{Cluster: cluster.Options{WithoutControllerManager: true}})
}

// suite is the namespace of one test.
type suite struct{ framework.Test }

// newSuite makes a namespace on the shared cluster.
func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, open(t))}
}

// newBareSuite makes a namespace on the cluster that has the CRDs alone.
func newBareSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, bare(t))}
}

// newOwnSuite makes a namespace on a cluster of its own, with one replica that has these arguments.
func newOwnSuite(t *testing.T, operator framework.Operator, args ...string) (*suite, *framework.Replica) {
	t.Helper()
	own := tests.OpenFor(t, framework.Options{Operator: operator, Cluster: cluster.Options{WithoutControllerManager: true}})
	replica, err := own.StartReplica(t.Context(), framework.Patient(args...)...)
	if err == nil {
		err = own.Reachable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &suite{framework.NewTest(t, own)}, replica
}
