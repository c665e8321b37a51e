// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/stage"
)

// nodes that the pods are spread over.
const nodes = 10

// run is one measurement.
type run struct {
	Options
	result Result

	stage  *stage.Stage
	client kubernetes.Interface
	board  *board
	leader *operator
}

// operator is a replica, and where it shows what it uses.
type operator struct {
	*stage.Replica
	metrics, profiles string
}

// open starts the control plane, and follows what will be in it.
func (r *run) open(ctx context.Context) error {
	root, err := filepath.Abs(r.Root)
	if err != nil {
		return err
	}
	r.stage, err = stage.Open(ctx, stage.Options{Root: root, Output: r.Output, Cluster: cluster.Options{
		Nodes: nodes, AuditPolicy: filepath.Join(root, "test", "bench", "restarts", "testdata", "audit-policy.yaml"),
	}})
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", r.stage.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if r.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	r.board, err = open(ctx, r.client.Discovery().RESTClient())
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

// lead starts the replica that is measured, and waits until it can do all that it is for. Its metrics
// are read without TLS: to ask who may read them would be a call that no restart needs.
func (r *run) lead(ctx context.Context) error {
	var at [2]string
	for i := range at {
		port, err := loopback.FreePort()
		if err != nil {
			return err
		}
		at[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	replica, err := r.stage.StartReplica(ctx, fmt.Sprintf("--max-restarts=%d", r.Cap),
		"--metrics-secure=false", "--metrics-bind-address="+at[0], "--pprof-bind-address="+at[1],
		// No Lease is lost because the machine is busy.
		"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s")
	if err != nil {
		return err
	}
	r.leader = &operator{Replica: replica, metrics: "http://" + at[0] + "/metrics", profiles: "http://" + at[1] + "/debug/pprof"}
	return nil
}

// retire ends it in order.
func (r *run) retire() {
	r.stage.Retire(r.leader.Replica)
	r.leader = nil
}

// until asks again and again, and gives up on what cannot be true any more.
func (r *run) until(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%s)", context.Cause(ctx), r.board)
		case <-ticker.C:
		}
		if err := r.board.trouble(); err != nil {
			return err
		}
		if r.leader != nil && r.leader.PID() == 0 {
			return errors.New("the operator has ended; its last words are above")
		}
	}
}

// pause lets time pass in which something might happen that must not.
func (r *run) pause(ctx context.Context, long time.Duration) error {
	began := time.Now()
	return r.until(ctx, 200*time.Millisecond, func() (bool, error) { return time.Since(began) >= long, nil })
}
