// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"os"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// podCIDR lies in a range that test/externalnet has servers stand for.
const podCIDR = "198.19.0.0/16"

var (
	tests = framework.NewTests(16)
	open  = framework.Shared(openReplicas)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// openReplicas opens the cluster that all tests share, with three nodes, and the servers outside.
func openReplicas() (*framework.Cluster, error) {
	c, err := tests.OpenReplicas(framework.Options{Cluster: cluster.Options{Nodes: 3, PodCIDR: podCIDR}}, "--set=rebootPolicies.maxRestarts=500",
		"--set=rebootPolicies.prometheus.url="+prometheus.URL, "--set=rebootPolicies.prometheus.namespaceParameter=namespace",
		"--set=notifications.url="+notified.URL, "--set=notifications.source=/clusters/test", framework.Jobs)
	if err != nil {
		return nil, err
	}
	return c, c.GrantJobs(context.Background())
}

// suite is the namespace of one test.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, open(t))}
}
