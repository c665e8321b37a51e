// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// Pool is of clusters that a test needs for itself, one after the other. There are as many as tests run at once.
type Pool struct {
	tests *Tests
	logs  func(*testing.T) string
	check func(*Cluster) error

	mu     sync.Mutex // guards what follows
	opened int
	free   []*Cluster
}

// NewPool returns a pool of clusters. Each cluster has a folder of its own in that of logs. At the end each is checked and
// closed.
func (t *Tests) NewPool(logs func(*testing.T) string, check func(*Cluster) error) *Pool {
	return &Pool{tests: t, logs: logs, check: check}
}

// Take returns a cluster that is the test's alone until it ends. A test leaves no replica behind; what else another one
// has left, it removes.
func (p *Pool) Take(t *testing.T) *Cluster {
	t.Helper()
	c, number := p.take()
	if c == nil {
		var err error
		folder := filepath.Join(p.logs(t), strconv.Itoa(number))
		c, err = Open(p.tests.Context, own(Options{Cluster: cluster.Options{LogFolder: folder}}))
		if err != nil {
			t.Fatal(err)
		}
		p.tests.AtEnd(func() error { return errors.Join(p.check(c), c.Close()) })
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.showLogs(t)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, c)
	})
	return c
}

// take returns a cluster that no test has, or nil and the number of one that is to be opened.
func (p *Pool) take() (*Cluster, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free = p.free[:last]
		return c, 0
	}
	p.opened++
	return nil, p.opened
}
