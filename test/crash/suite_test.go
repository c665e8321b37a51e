// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"os"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(24)
	open  = framework.Shared(openCluster)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// openCluster opens the cluster that all tests share. One replica serves admission and reconciles a namespace
// that is not there; those that are broken belong to a test each.
func openCluster() (*framework.Cluster, error) {
	c, err := tests.Open(framework.Options{Cluster: cluster.Options{Nodes: 3}})
	if err != nil {
		return nil, err
	}
	if _, err := c.StartReplica(tests.Context, "--leader-elect=false", "--set=namespaces=nowhere"); err != nil {
		return nil, err
	}
	return c, c.Reachable(tests.Context)
}

// suite is the namespace of one test.
type suite struct {
	framework.Test
	herd *herd
}

// newSuite returns one that asks less often than others do: many wait at once, and the processors are for what they
// wait for.
func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{Test: framework.NewTest(t, open(t))}
	s.Patience, s.Pause = 4*time.Minute, 200*time.Millisecond
	s.herd = s.watchPods()
	return s
}
