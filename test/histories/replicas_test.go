// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// replicas are two of the operator, which reach the API server through one proxy.
type replicas struct {
	*framework.Cluster
	proxy *faultproxy.Proxy
	kept  sync.WaitGroup // what starts them again
}

// arguments have a killed leader replaced within seconds.
var arguments = []string{
	"--set=leaderElection.leaseDuration=8s", "--set=leaderElection.renewDeadline=6s", "--set=leaderElection.retryPeriod=1s", "--set=rebootPolicies.maxRestarts=500", "--set=externalServices.drainPeriod=1s",
}

// start starts both, and whatever ends of them again, as a kubelet does, until ctx ends.
func (r *replicas) start(ctx context.Context) error {
	for range 2 {
		replica, err := r.StartReplica(ctx, append([]string{"--kubeconfig=" + r.proxy.Kubeconfig}, arguments...)...)
		if err != nil {
			return err
		}
		r.kept.Go(func() {
			for pause(ctx, time.Second) == nil {
				if replica.PID() != 0 {
					continue
				}
				if err := replica.Start(ctx); err != nil { // the path may not let it: it is started again
					fmt.Fprintln(os.Stderr, err)
				}
			}
		})
	}
	return r.Reachable(ctx)
}

// killLeader ends the replica that holds the Lease, or any where none does. That its Lease expires is not waited for.
func (r *replicas) killLeader(ctx context.Context) error {
	var lease coordinationv1.Lease
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: framework.Namespace, Name: "fairlead-manager"}, &lease); err != nil {
		return err
	}
	running := r.Running()
	at := max(0, slices.IndexFunc(running, func(one *framework.Replica) bool { return one.ID == ptr.Deref(lease.Spec.HolderIdentity, "") }))
	running[at].Kill()
	return nil
}

// fault is a disturbance of the requests on a path.
type fault struct {
	name string
	add  faultproxy.Fault
	// silences connections that were open instead.
	silences bool
}

func every(faultproxy.Request) bool { return true }

func reads(r faultproxy.Request) bool { return r.Verb == "get" || r.Verb == "list" }

func writes(r faultproxy.Request) bool { return !reads(r) && r.Verb != "watch" }

// slow is longer than the deadlines of an election that is hurried, and shorter than those of anything else.
const slow = 5200 * time.Millisecond

var faults = []fault{
	{name: "reads get a page 404", add: faultproxy.Fault{Match: reads, Answer: faultproxy.Page(http.StatusNotFound)}},
	{name: "everything gets a page 404", add: faultproxy.Fault{Match: every, Answer: faultproxy.Page(http.StatusNotFound)}},
	{name: "reads get 403", add: faultproxy.Fault{Match: reads, Answer: faultproxy.Status(http.StatusForbidden)}},
	{name: "writes get 403", add: faultproxy.Fault{Match: writes, Answer: faultproxy.Status(http.StatusForbidden)}},
	{name: "everything gets 429", add: faultproxy.Fault{Match: every, Answer: faultproxy.Status(http.StatusTooManyRequests)}},
	{name: "everything gets 500", add: faultproxy.Fault{Match: every, Answer: faultproxy.Status(http.StatusInternalServerError)}},
	{name: "writes get a page 502", add: faultproxy.Fault{Match: writes, Answer: faultproxy.Page(http.StatusBadGateway)}},
	{name: "everything is answered late", add: faultproxy.Fault{Match: every, Delay: slow}},
	{name: "nothing is answered", add: faultproxy.Fault{Match: every, Silent: true}},
	{name: "watches are mute", add: faultproxy.Fault{Match: every, Mute: true}},
	{name: "what was connected is silent", silences: true},
}

// disturb begins a fault, and returns the function that ends it.
func (r *replicas) disturb(which int) func() error {
	f := faults[which%len(faults)]
	if f.silences {
		r.proxy.SilenceConnections(every)
		return func() error { return nil }
	}
	active := r.proxy.Add(f.add)
	return func() error {
		active.Lift()
		return nil
	}
}
