// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// isCorrected reports whether the pending restart is for other content than one that failed.
func (t *target) isCorrected() bool { return t.Pending != nil && t.Pending.CorrectedTime != nil }

// correct has the failure of a restart hold nothing that is for other content, unless the halt is one of spec.limit, which is for
// content that changes again and again. What comes back to the content that failed is held again.
func (r *run) correct(t *target) {
	q := &t.requested
	halted := r.stateOf(t) == Halted
	switch {
	case t.Pending == nil, halted && r.status.Halt.Reason == autorebootv1.ReasonLimitReached:
	case !q.content:
		if !t.isUnknown() {
			t.Pending.CorrectedTime = nil
		}
	case !halted && (t.isCorrected() || !t.retryPending()):
	default:
		o := occurrence{event: Corrected, changed: q.written, message: r.correctedText(t)}
		if !t.retryPending() {
			o.event = CorrectedAnew
		}
		r.apply(t, o)
	}
}

// correctedText returns what a restart is for after one that failed.
func (r *run) correctedText(t *target) string {
	var names []string
	for _, s := range t.requested.dated {
		if r.isContent(s) && !slices.Contains(names, s.Source) {
			names = append(names, s.Source)
		}
	}
	of := ""
	if len(names) > 0 {
		of = " of " + firstNames(names)
	}
	return "for new content" + of + "; the failed restart was for the previous content"
}

// corrected starts the quiet period of content that is new after a failure, and ends the halt that the failure caused.
func (r *run) corrected(t *target, o occurrence) {
	p, text := t.Pending, "a restart of "+targetText(t.id())+" is due "+o.message
	p.CorrectedTime = r.timestampPtr()
	// What failed may come back, and is a retry then.
	t.Attempts = min(t.Attempts, r.maxAttempts)
	since := r.timestamp.Time
	if !o.changed.IsZero() {
		since = earliest(o.changed, since)
	}
	p.LastRequestTime = metav1.NewTime(latest(p.LastRequestTime.Time, since))
	for _, name := range p.Triggers {
		r.fired[name] = true
	}
	if h := r.status.Halt; h != nil && h.Target == t.id() {
		r.status.Halt = nil
		text += ", and the policy is no longer halted"
	}
	r.addMessage(Message{Reason: TriggerFired, Target: t.id(), Text: text})
}
