// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/test/bench/subject"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// nodes that the pods are spread over.
const nodes = 10

// run is one measurement.
type run struct {
	options Options
	result  Result

	stage  *framework.Cluster
	client kubernetes.Interface
	board  *board
	leader *subject.Subject
	// followed are the labels of the policies that are followed; all where it is empty.
	followed string
}

// open starts the control plane, and follows what will be in it.
func (r *run) open(ctx context.Context) error {
	root, err := filepath.Abs(r.options.Root)
	if err != nil {
		return err
	}
	r.stage, err = framework.Open(ctx, framework.Options{Root: root, Output: r.options.Output, Cluster: cluster.Options{
		Nodes: nodes, AuditPolicy: filepath.Join(root, "test", "bench", "restarts", "testdata", "audit-policy.yaml"),
	}})
	if err != nil {
		return err
	}
	r.client = r.stage.Kube
	r.board, err = open(ctx, r.client.Discovery().RESTClient(), r.followed)
	return err
}

// close ends what runs, and those who look at it first.
func (r *run) close() error {
	if r.board != nil {
		r.board.close()
	}
	if r.stage == nil {
		return nil
	}
	return r.stage.Close()
}

// lead starts the replica that is measured, and waits until it can do all that it is for.
func (r *run) lead(ctx context.Context) (err error) {
	r.leader, err = subject.Start(ctx, r.stage, fmt.Sprintf("--set=rebootPolicies.maxRestarts=%d", r.options.Cap))
	return err
}

// retire ends it in order.
func (r *run) retire() {
	r.stage.Retire(r.leader.Replica)
	r.leader = nil
}

// until asks again and again, and gives up on what cannot be true any more.
func (r *run) until(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	err := r.leader.Until(ctx, every, func() (bool, error) {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		return false, r.board.trouble()
	})
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%s)", err, r.board)
	}
	return err
}

// pause lets time pass in which something might happen that must not.
func (r *run) pause(ctx context.Context, long time.Duration) error {
	began := time.Now()
	return r.until(ctx, 200*time.Millisecond, func() (bool, error) { return time.Since(began) >= long, nil })
}
