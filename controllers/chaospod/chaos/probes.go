// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// requests returns those of verification.probes for the run under way: none in a dry run, which disrupts nothing.
func (r *run) requests() requestcount.Counts {
	c := r.status.CurrentRun
	if c.DryRun {
		return requestcount.Counts{}
	}
	return requestcount.New(r.verificationProbes, c.Probes, r.observed.Requests)
}

// countRequests stores the requests of the run. That is a part of a write which is made in any case, except for the first
// failures that are too many: a process that ends must not take them with it.
func (r *run) countRequests() {
	if counts := r.requests().Status(); counts != nil { // probes that the spec does not have any more have counted until then
		r.status.CurrentRun.Probes = counts
	}
}

// unprobed returns the probes without a successful request before the first kill, as text. A service that already fails is not
// disrupted: a failure then proves nothing.
func (r *run) unprobed() string {
	if r.deadCount() > 0 {
		return ""
	}
	return r.requests().NoneSucceeded()
}

// awaitsProbes reports whether the kills wait for a request of each probe to succeed. That is a hold only once it has lasted:
// the first results take a moment in any run, and are no reason to write the status.
func (r *run) awaitsProbes() bool {
	unprobed := r.unprobed()
	if unprobed == "" {
		return false
	}
	if lasts := r.status.CurrentRun.KillingTime.Add(heldInterval); r.now.Before(lasts) {
		r.requeueAt(lasts)
	} else {
		r.hold(&hold{reason: chaosv1.ReasonProbesFailed, message: unprobed})
	}
	return true
}

// storeExceeded stores the first failures that are too many.
func (r *run) storeExceeded() {
	if counts := r.requests(); counts.Exceeded() != "" && !counts.IsExceededIn(r.status.CurrentRun.Probes) {
		r.countRequests()
	}
}

// nextProbeEvent returns the event of a run whose owners are back and whose requests failed too often. The owners' result is
// known by then, and later requests cannot make the failures fewer.
func (r *run) nextProbeEvent() (occurrence, bool) {
	if exceeded := r.requests().Exceeded(); exceeded != "" {
		return r.probesFailed(exceeded), true
	}
	return occurrence{}, false
}

// awaitsRequests reports whether the verdict waits for a request of some probe, or for whether a failure counts. After the
// timeout, a run with a probe without any result was not survived: success was required, and is not proven.
func (r *run) awaitsRequests() (o occurrence, failed, waits bool) {
	counts := r.requests()
	none := counts.NoneSent()
	if none == "" && !counts.IsUnsettled() {
		return occurrence{}, false, false
	}
	if ends := r.status.CurrentRun.KilledTime.Add(r.timeout); r.now.Before(ends) {
		r.requeueAt(r.now.Add(retryInterval))
		return occurrence{}, false, true
	}
	return r.probesFailed(none), none != "", false
}

func (r *run) probesFailed(message string) occurrence {
	o := occurrence{event: ProbesFailedTolerated, reason: chaosv1.ReasonProbesFailed, message: message + "; " + diedPrefix + r.victimsText()}
	if r.haltOnFailure {
		o.event = ProbesFailed
	}
	return o
}

// requestsText returns what came of the requests of the run, whose counts are stored.
func (r *run) requestsText() string {
	when := "while pods died"
	if r.deadCount() == 0 {
		when = "before any pod was killed"
	}
	return r.requests().Sentence(r.status.CurrentRun.Probes, when)
}
