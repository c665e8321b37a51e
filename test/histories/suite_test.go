// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"os"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(1)
	open  = framework.Shared(openReplicas)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// openReplicas opens a cluster with three nodes and two replicas behind a proxy. That they are refused is meant.
func openReplicas() (*replicas, error) {
	servers, err := tests.Servers()
	if err != nil {
		return nil, err
	}
	c, err := framework.Open(tests.Context, framework.Options{
		Root: framework.Root, Output: os.Stderr, Servers: servers, Cluster: cluster.Options{Nodes: 3},
	})
	if err != nil {
		return nil, err
	}
	tests.AtEnd(c.Close)
	folder, err := os.MkdirTemp("", "fairlead-histories-")
	if err != nil {
		return nil, err
	}
	tests.AtEnd(func() error { return os.RemoveAll(folder) })
	proxy, err := faultproxy.Listen(c.Operator(), folder)
	if err != nil {
		return nil, err
	}
	tests.AtEnd(func() error { proxy.Close(); return nil })
	r := &replicas{Cluster: c, proxy: proxy}
	ctx, end := context.WithCancel(tests.Context)
	tests.AtEnd(func() error {
		end()
		r.kept.Wait()
		return nil
	})
	return r, r.start(ctx)
}
