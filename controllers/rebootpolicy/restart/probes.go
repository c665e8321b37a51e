// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// ProbeRequests are the requests of one of verification.probes since a restart began.
type ProbeRequests struct {
	common.ProbeRequests

	// Unsettled means that it is not known yet whether some failures are the fault of the operator.
	Unsettled bool
	// NotSent is why the latest request was not sent, in one word; empty where it was.
	NotSent string
	// Resumed means that a part of the restart was not observed, since another process began it.
	Resumed bool
}

// probes returns the requests of each of verification.probes for a restart: what is observed, or else what the status has.
func (r *run) probes(f *autorebootv1.InFlightRestart) []ProbeRequests {
	all := make([]ProbeRequests, 0, len(r.verificationProbes))
	for i := range r.verificationProbes {
		name := r.verificationProbes[i].Name
		requests := ProbeRequests{ProbeRequests: common.ProbeRequests{Name: name}}
		for _, stored := range f.Probes {
			if stored.Name == name {
				requests.ProbeRequests = stored
			}
		}
		for _, observed := range r.observed.Requests[f.ID] {
			if observed.Name == name {
				requests = observed
			}
		}
		all = append(all, requests)
	}
	return all
}

// countRequests stores the requests of a restart. That is a part of a write which is made in any case, except for the first
// failures that are too many: a process that ends must not take them with it.
func (r *run) countRequests(f *autorebootv1.InFlightRestart) {
	all := r.probes(f)
	if len(all) == 0 {
		return // probes that the spec does not have any more have counted until then
	}
	f.Probes = make([]common.ProbeRequests, 0, len(all))
	for i := range all {
		f.Probes = append(f.Probes, all[i].ProbeRequests)
	}
}

// exceeded returns the probes of which more requests failed than may, in words; nil where there are none.
func (r *run) exceeded(counts []common.ProbeRequests) (texts []string) {
	for i := range r.verificationProbes {
		p := &r.verificationProbes[i]
		for _, c := range counts {
			if c.Name == p.Name && c.Failed > int64(*p.MaxFailures) {
				texts = append(texts, fmt.Sprintf("%s of %s of probe %s, of which %s may",
					grouped(c.Failed), grouped(c.Sent), p.Name, grouped(int64(*p.MaxFailures))))
			}
		}
	}
	return texts
}

// nextProbeEvent fails a restart of which too many requests failed. A rollout is completed first: it cannot be stopped, and
// how many requests it costs is what is to be known.
func (r *run) nextProbeEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	var counts []common.ProbeRequests
	for _, p := range r.probes(f) {
		counts = append(counts, p.ProbeRequests)
	}
	texts := r.exceeded(counts)
	switch {
	case len(texts) == 0:
		return occurrence{}, false
	case f.Phase == autorebootv1.PhaseEvicting || f.Phase == autorebootv1.PhaseSoaking:
		return r.probesFailed(t, f, strings.Join(texts, ", ")), true
	case len(r.exceeded(f.Probes)) == 0:
		r.countRequests(f)
	}
	return occurrence{}, false
}

// awaitsRequests reports whether the verdict waits for a request of some probe, or for whether a failure counts. Once there is
// no more time, a restart of which nothing is known by some probe has failed: that was asked for, and is not proven.
func (r *run) awaitsRequests(t *target, f *autorebootv1.InFlightRestart) (o occurrence, failed, waits bool) {
	var none []string
	for _, p := range r.probes(f) {
		waits = waits || p.Unsettled
		if p.Sent+p.Inconclusive == 0 && !p.Unsettled {
			text := "no request of probe " + p.Name + " was sent"
			if p.NotSent != "" {
				text += " (" + p.NotSent + ")"
			}
			none = append(none, text)
		}
	}
	if len(none) == 0 && !waits {
		return occurrence{}, false, false
	}
	if until := timeOf(f.StartTime).Add(r.timeout); r.now.Before(until) {
		r.requeueAt(earliest(r.now.Add(retryInterval), until))
		return occurrence{}, false, true
	}
	return r.probesFailed(t, f, strings.Join(none, ", ")), len(none) > 0, false
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

// requestsText returns what came of the requests of a restart that ends, in one sentence; empty where there were none.
func (r *run) requestsText(f *autorebootv1.InFlightRestart, c *common.RequestCounts) string {
	if c == nil || c.Sent+c.Inconclusive == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s requests failed while it restarted", grouped(c.Failed), grouped(c.Sent))
	if c.Inconclusive > 0 {
		text += fmt.Sprintf("; %s more do not count, since the operator's own network was in doubt", grouped(c.Inconclusive))
	}
	observed := r.observed.Requests[f.ID]
	isResumed := slices.ContainsFunc(observed, func(p ProbeRequests) bool { return p.Resumed })
	if isResumed || len(observed) == 0 && len(r.verificationProbes) > 0 { // the first decision of a process
		text += "; none was sent while no replica led"
	}
	return text
}

// TotalRequests sums the requests of all probes; nil where there are none.
func TotalRequests(probes []common.ProbeRequests) *common.RequestCounts {
	if len(probes) == 0 {
		return nil
	}
	total := &common.RequestCounts{}
	for i := range probes {
		p := &probes[i]
		total.Sent, total.Failed, total.Inconclusive = total.Sent+p.Sent, total.Failed+p.Failed, total.Inconclusive+p.Inconclusive
	}
	return total
}

// grouped returns a number with a comma after each thousand.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
