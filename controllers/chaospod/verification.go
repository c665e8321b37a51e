// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"

	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// requests reads those of verification.probes for the run under way.
func (r *Reconciler) requests(o *observation) []requestcount.Requests {
	if run := o.stored.Status.CurrentRun; run != nil {
		return r.Requests.Requests(o.key, run.ID)
	}
	return nil
}

// sendRequests has the requests of verification.probes sent while a run that is no dry run is under way by the stored status, and no
// longer. A ChaosPod that is invalid or without an approval that covers it sends none. A run that was under way when the ChaosPod
// was read was begun by another process, or by this one, which knows.
func (r *Reconciler) sendRequests(ctx context.Context, o *observation) {
	run := o.stored.Status.CurrentRun
	if run == nil || run.DryRun || o.withoutProbes {
		r.Requests.Set(o.key, nil, nil)
		return
	}
	wants, again := clientprobe.Wants(ctx, r.secrets, o.key.Namespace, o.spec.Spec.Verification.Probes)
	o.requeueAt(again)
	r.Requests.Set(o.key, wants, []clientprobe.Disruption{{ID: run.ID, Stored: run.Probes, Resumed: run.ID == o.begun}})
}
