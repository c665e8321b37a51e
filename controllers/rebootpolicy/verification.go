// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"

	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// observeRequests reads the requests of verification.probes for the restarts in flight.
func (r *Reconciler) observeRequests(o *observation) {
	o.requests, o.begun = map[string][]requestcount.Requests{}, map[string]bool{}
	for i := range o.policy.Status.InFlight {
		id := o.policy.Status.InFlight[i].ID
		o.begun[id] = true
		if requests := r.Requests.Requests(o.key, id); len(requests) > 0 {
			o.requests[id] = requests
		}
	}
}

// sendRequests has the requests of verification.probes sent while a restart is in flight by the stored status, and no longer.
// It comes before a workload is touched. A policy without an approval that covers it sends none. A restart that was not decided
// on just now was begun by another process, or by this one, which knows.
func (r *Reconciler) sendRequests(ctx context.Context, o *observation) {
	probes, inFlight := o.policy.Spec.Verification.Probes, o.stored.Status.InFlight
	if o.blockedBy != "" || len(inFlight) == 0 {
		probes = nil
	}
	wants, again := clientprobe.Wants(ctx, r.secrets, o.key.Namespace, probes)
	o.requeueAt(again)
	var restarts []clientprobe.Disruption
	for i := range inFlight {
		f := &inFlight[i]
		restarts = append(restarts, clientprobe.Disruption{ID: f.ID, Stored: f.Probes, Resumed: o.begun[f.ID]})
	}
	r.Requests.Set(o.key, wants, restarts)
}
