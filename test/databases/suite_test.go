// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"io"
	"log"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9/logging"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(9)
	open  = framework.Shared(openReplicas)
)

func TestMain(m *testing.M) {
	logging.Disable() // each write that fails is counted
	if err := mysql.SetLogger(log.New(io.Discard, "", 0)); err != nil {
		panic(err)
	}
	os.Exit(tests.Main(m))
}

func openReplicas() (*framework.Cluster, error) { return tests.OpenReplicas(framework.Options{}) }

// suite is the namespace of one test, and the addresses outside.
type suite struct{ framework.Test }
