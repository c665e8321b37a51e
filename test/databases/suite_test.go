// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(8)
	open  = framework.Shared(openReplicas)
)

func TestMain(m *testing.M) {
	logging.Disable() // of Redis: each write that fails is counted
	os.Exit(tests.Main(m))
}

func openReplicas() (*framework.Cluster, error) { return tests.OpenReplicas(framework.Options{}) }

// suite is the namespace of one test, and the addresses outside.
type suite struct{ framework.Test }
