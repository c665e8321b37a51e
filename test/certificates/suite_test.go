// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(4)

	// logs holds a folder of logs for each test. None provokes a crash or lacks a permission, or has a key logged.
	logs = framework.Shared(func() (string, error) { return tests.LogFolder("PRIVATE KEY-----", "panic", "goroutine ", "forbidden") })
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// suite is one test on a cluster of its own: what cert-manager has made must belong to no other test.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	own := tests.OpenFor(t, framework.Options{Cluster: cluster.Options{LogFolder: filepath.Join(logs(t), t.Name())}})
	return &suite{framework.Test{T: t, Cluster: own}}
}
