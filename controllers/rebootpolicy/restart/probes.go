// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// requests returns those of verification.probes for a restart.
func (r *run) requests(f *autorebootv1.InFlightRestart) requestcount.Counts {
	return requestcount.New(r.verificationProbes, f.Probes, r.observed.Requests[f.ID])
}

// countRequests stores the requests of a restart. That is a part of a write which is made in any case, except for the first
// failures that are too many: a process that ends must not take them with it.
func (r *run) countRequests(f *autorebootv1.InFlightRestart) {
	if counts := r.requests(f).Status(); counts != nil { // probes that the spec does not have any more have counted until then
		f.Probes = counts
	}
}

// nextProbeEvent fails a restart if too many of its requests failed. A rollout is completed first: it cannot be stopped, and
// its cost in requests is what verification measures.
func (r *run) nextProbeEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	counts := r.requests(f)
	exceeded := counts.Exceeded()
	switch {
	case exceeded == "":
	case f.Phase == autorebootv1.PhaseEvicting || f.Phase == autorebootv1.PhaseSoaking:
		return r.probesFailed(t, f, exceeded), true
	case !counts.IsExceededIn(f.Probes):
		r.countRequests(f)
	}
	return occurrence{}, false
}

// awaitsRequests reports whether the verdict waits for a request of some probe, or for whether a failure counts. After the
// timeout, a restart with a probe without any result has failed: success was required, and is not proven.
func (r *run) awaitsRequests(t *target, f *autorebootv1.InFlightRestart) (o occurrence, failed, waits bool) {
	counts := r.requests(f)
	none := counts.NoneSent()
	if none == "" && !counts.IsUnsettled() {
		return occurrence{}, false, false
	}
	if until := timeOf(f.StartTime).Add(r.timeout); r.now.Before(until) {
		r.requeueAt(earliest(r.now.Add(retryInterval), until))
		return occurrence{}, false, true
	}
	return r.probesFailed(t, f, none), none != "", false
}

// probesFailed returns the event for a restart that failed by its requests. Once all pods are new it is not tried again, since
// nothing is left to be restarted; while pods are evicted it waits for a person, or is a failure as others where none decides.
func (r *run) probesFailed(t *target, f *autorebootv1.InFlightRestart, message string) occurrence {
	o := r.failure(t, autorebootv1.ReasonProbesFailed)
	halts := r.haltOnFailure && r.status.Halt == nil
	switch {
	case f.Phase == autorebootv1.PhaseSoaking && halts:
		o.event = ProbesFailedAndHalted
	case f.Phase == autorebootv1.PhaseSoaking:
		o.event = ProbesFailed
	case halts:
		o.event = FailedAndHalted
	}
	o.message = message
	return o
}
