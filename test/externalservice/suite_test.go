// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"os"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(16)
	open  = framework.Shared(openReplicas)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

func openReplicas() (*framework.Cluster, error) {
	return tests.OpenReplicas(framework.Options{}, "--set=externalServices.drainPeriod=1s")
}

// suite is the namespace of one test, and the servers outside.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, open(t))}
}
