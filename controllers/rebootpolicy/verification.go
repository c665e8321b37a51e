// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/cabundle"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// observeRequests reads the requests of verification.probes for the restarts in flight.
func (r *Reconciler) observeRequests(o *observation) {
	o.requests, o.begun = map[string][]restart.ProbeRequests{}, map[string]bool{}
	for i := range o.policy.Status.InFlight {
		id := o.policy.Status.InFlight[i].ID
		o.begun[id] = true
		for j := range o.policy.Spec.Verification.Probes {
			name := o.policy.Spec.Verification.Probes[j].Name
			if counted, ok := r.Probes.Requests(o.key, name, id); ok {
				o.requests[id] = append(o.requests[id], restart.ProbeRequests{
					ProbeRequests: common.ProbeRequests{Name: name, RequestCounts: counted.RequestCounts},
					Unsettled:     counted.Unsettled, NotSent: counted.NotSent, Resumed: counted.Resumed,
				})
			}
		}
	}
}

// sendRequests has the requests of verification.probes sent while a restart is in flight by the stored status, and no longer.
// It comes before a workload is touched. A policy without an approval that covers it sends none.
func (r *Reconciler) sendRequests(ctx context.Context, o *observation) {
	var wants []podprobe.Verification
	probes, inFlight := o.policy.Spec.Verification.Probes, o.stored.Status.InFlight
	if o.blockedBy != "" || len(inFlight) == 0 {
		probes = nil
	}
	for i := range probes {
		want := podprobe.Verification{Probe: &probes[i]}
		check := probes[i].Check()
		if name := cabundle.SecretOf(&check); name != "" {
			ca := r.caBundles.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: name})
			o.requeueAt(ca.Due)
			want.Roots = ca.Roots
			if ca.Problem != "" {
				want.Unsupported = caUnavailable
			}
		}
		for j := range inFlight {
			want.Restarts = append(want.Restarts, o.counted(&inFlight[j], probes[i].Name))
		}
		wants = append(wants, want)
	}
	r.Probes.SetVerification(o.key, wants)
}

// counted returns what the status has of the requests of a probe during a restart. One that was not decided on just now was
// begun by another process, or by this one, which knows.
func (o *observation) counted(f *autorebootv1.InFlightRestart, probe string) podprobe.Counted {
	c := podprobe.Counted{ID: f.ID, Resumed: o.begun[f.ID]}
	for i := range f.Probes {
		if f.Probes[i].Name == probe {
			c.Before = f.Probes[i].RequestCounts
		}
	}
	return c
}
