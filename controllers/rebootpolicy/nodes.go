// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

const (
	// overdueAfter is how long after its grace period a pod that is there still does not end: what kills it may be slow, and
	// the time is that of the API server.
	overdueAfter = time.Minute
	// lateAfter is how long a pod may take until its node is looked at: a rollout that goes well reads no nodes.
	lateAfter = 30 * time.Second
	// nodeInterval is how long what was read of a node counts, and how often pods that are late are looked at again.
	nodeInterval = 30 * time.Second
	// maxNodeReads is how many nodes one reconcile reads.
	maxNodeReads = 10
)

// findLostPods finds the pods that can neither become ready nor end, of each DaemonSet and StatefulSet whose restart waits or
// is in flight: their controllers wait for such a pod. Those of a Deployment are made elsewhere.
func (r *Reconciler) findLostPods(ctx context.Context, o *observation) error {
	reads := 0
	for _, w := range o.workloads {
		if w.Kind == autorebootv1.TargetDeployment || !o.inFlight(w.UID) && o.targetStatus(w).Pending == nil {
			continue
		}
		for i := range w.Pods {
			p := &w.Pods[i]
			if p.Node == "" || !p.IsLate(o.now, lateAfter) {
				continue
			}
			o.requeueAt(o.now.Add(nodeInterval)) // no event says that it is
			if p.Terminating && p.Finalizer == "" && o.now.After(p.Ends.Add(overdueAfter)) {
				p.Lost = "where it does not end"
			}
			if r.WithoutNodes {
				continue
			}
			known, found := r.nodes.get(p.Node, o.now)
			if !found && reads < maxNodeReads {
				reads++
				known = r.readNode(ctx, p.Node)
				r.nodes.set(p.Node, known, o.now)
			}
			if known != "" {
				p.Lost = known
			}
		}
	}
	return ctx.Err()
}

// readNode returns why nothing can become ready or end on a node; empty where that is not known.
func (r *Reconciler) readNode(ctx context.Context, name string) string {
	var node corev1.Node
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apistatus.IsAbsent(err, corev1.Resource("nodes"), name) {
		return "which does not exist"
	}
	if err != nil {
		return ""
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "which is not ready"
		}
	}
	return ""
}

// nodes remembers what was read of nodes.
type nodes struct {
	mu    sync.Mutex
	known map[string]nodeRead
}

type nodeRead struct {
	why string
	at  time.Time
}

func (n *nodes) get(name string, now time.Time) (why string, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read, found := n.known[name]
	return read.why, found && now.Sub(read.at).Abs() < nodeInterval
}

// set records what was read, and forgets what is too old to count.
func (n *nodes) set(name, why string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := map[string]nodeRead{name: {why, now}}
	for other, read := range n.known {
		if other != name && now.Sub(read.at).Abs() < nodeInterval {
			kept[other] = read
		}
	}
	n.known = kept
}
