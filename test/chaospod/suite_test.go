// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(16)
	open  = framework.Shared(openReplicas)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// openReplicas opens the operator that all tests share, with three nodes, and what ExternalServices lead to.
func openReplicas() (*framework.Cluster, error) {
	return tests.OpenReplicas(framework.Options{Cluster: cluster.Options{Nodes: 3}}, "--set=rebootPolicies.maxRestarts=500")
}

// suite is the namespace of one test.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	t.Parallel()
	return newSerialSuite(t)
}

// newSerialSuite is one beside which no other test runs.
func newSerialSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, open(t))}
}

// Make creates an object from YAML. A webhook that was too late on a busy machine is called again.
func (s *suite) Make(manifest string) *unstructured.Unstructured {
	s.Helper()
	object := s.Object(manifest)
	s.Must(framework.Retry(func() error { return s.Client.Create(s.Context(), object) }))
	return object
}
