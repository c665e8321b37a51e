// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(5) // most of their time they wait for leases and for processes

	// logs holds the folders of all clusters' logs. No test provokes a crash, or has a key logged.
	logs = framework.Shared(func() (string, error) { return tests.LogFolder("PRIVATE KEY-----", "panic", "goroutine ") })

	// clusters are control planes with Fairlead. Each test has one for itself.
	clusters = tests.NewPool(logs, noKeyIn)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// logsOf is the folder of a cluster's logs.
func logsOf(c *framework.Cluster) string {
	return filepath.Dir(c.Component(cluster.APIServer).LogPath())
}

// noKeyIn fails where a log of a cluster's replicas holds a part of its root's key. Where the last test
// left no root, there is nothing to compare with.
func noKeyIn(c *framework.Cluster) error {
	raw, err := c.Kubectl(tests.Context, "get", "secret", rootSecret, "-n", framework.Namespace, "--ignore-not-found", "-o", `jsonpath={.data.tls\.key}`)
	if err != nil || raw == "" {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return err
	}
	found, err := keyMaterial(logsOf(c), key)
	if err == nil && len(found) > 0 {
		err = errors.New(strings.Join(found, "\n"))
	}
	return err
}

// suite is one test on a cluster. No replica of another test runs there, and the Lease is not held.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{framework.Test{T: t, Cluster: clusters.Take(t)}}
	s.freeLeases()
	return s
}
