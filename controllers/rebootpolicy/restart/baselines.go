// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// refreshAfter is how much later than its baseline a source with the same content must have been written for that time
// to be stored: metadata that changes often must not cause as many writes of the status.
const refreshAfter = 10 * time.Minute

// signals returns the signals of triggers in the spec, in order and each once, and no more than the status can hold.
func (r *run) signals(w *Workload) []*Signal {
	all := make([]*Signal, 0, len(w.Signals))
	for i := range w.Signals {
		if _, ok := r.order[w.Signals[i].Trigger]; ok {
			all = append(all, &w.Signals[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Signal) int {
		return cmp.Or(cmp.Compare(r.order[a.Trigger], r.order[b.Trigger]), strings.Compare(a.Source, b.Source))
	})
	remembered := 0
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n > 0 && kept[n-1].Trigger == s.Trigger && kept[n-1].Source == s.Source {
			continue
		}
		if s.hasBaseline() && s.Unknown == "" {
			if remembered == maxBaselines {
				r.unobservable[s.Trigger] = autorebootv1.ReasonTooManySources
				continue
			}
			remembered++
		}
		kept = append(kept, s)
	}
	return kept
}

// updateBaselines updates the baselines of a target: a new source, and one that changed silently, becomes the baseline;
// a source that is not in the spec any more is dropped.
func (r *run) updateBaselines(t *target) {
	if t.workload.Unread != "" {
		return
	}
	t.signals = r.signals(t.workload)
	r.adoptRenamed(t)
	complete, unknown := r.completeTriggers(t), t.hasUnknownSource()
	var baselines []autorebootv1.Baseline
	seen := make(map[[2]string]bool, len(t.signals))
	for _, s := range t.signals {
		if s.Unknown != "" || !s.hasBaseline() {
			continue
		}
		seen[[2]string{s.Trigger, s.Source}] = true
		if b, ok := r.nextBaseline(t, s); ok {
			baselines = append(baselines, b)
		}
	}
	for _, b := range t.Baselines {
		_, specified := r.order[b.Trigger]
		// One of a trigger that was renamed stays until the sources of all are known.
		kept := specified && !complete[b.Trigger] || !specified && unknown
		if kept && !seen[[2]string{b.Trigger, b.Source}] && len(baselines) < maxBaselines {
			baselines = append(baselines, b)
		}
	}
	slices.SortFunc(baselines, func(a, b autorebootv1.Baseline) int {
		return cmp.Or(strings.Compare(a.Trigger, b.Trigger), strings.Compare(a.Source, b.Source))
	})
	t.Baselines = baselines
}

// completeTriggers returns the triggers all of whose sources are known, so that their other baselines are dropped. It
// records which triggers cannot be observed, and when what others have seen counts.
func (r *run) completeTriggers(t *target) map[string]bool {
	complete := map[string]bool{}
	for _, s := range t.signals {
		others, ok := complete[s.Trigger]
		complete[s.Trigger] = s.Unknown == "" && (others || !ok)
		switch {
		case s.Unknown == "" && s.hasBaseline() && !s.SettlesAt.IsZero():
			r.settlesAt[s.Trigger] = s.SettlesAt
		case s.Unknown != "" && r.unobservable[s.Trigger] == "" && !t.workload.Unselected:
			r.unobservable[s.Trigger] = text.Truncate(s.Unknown, maxFingerprint)
		}
	}
	return complete
}

// nextBaseline returns the baseline of a signal, if it has one: a check that has not succeeded yet has none.
func (r *run) nextBaseline(t *target, s *Signal) (next autorebootv1.Baseline, ok bool) {
	b := t.baseline(s)
	switch {
	case s.Level && s.Fingerprint != "":
	case s.Level:
		return ptr.Deref(b, autorebootv1.Baseline{}), b != nil
	case s.Trigger == autorebootv1.RestartNowTrigger && r.ignoresRestartNow && !t.isPendingFor(s.Trigger):
	case b == nil && s.Trigger == autorebootv1.RestartNowTrigger && r.restartNow() != "":
		return autorebootv1.Baseline{Trigger: s.Trigger, Source: s.Source}, true
	case b == nil:
		if was := r.atCreation(t, s); was != nil && !s.isSilent(was.Fingerprint) {
			return *was, true
		}
		r.reportOutdated(t, s)
	case b.Fingerprint != s.fingerprint():
		if !s.isSilent(b.Fingerprint) || s.Incomparable && !s.Ignored && r.isOwedFor(t, s, b) {
			return *b, true
		}
		r.changed[s.Trigger] = true
		if s.Incomparable {
			r.reportOutdated(t, s)
		}
	case s.Keys == "" || b.Keys != "" && !s.Recorded.After(timeOf(b.WrittenTime).Add(refreshAfter)):
		return *b, true
	default:
		// It was stored by a version without these fields; or the source was written again, and a key that is
		// removed later must not count as that write.
	}
	return baselineOf(s), true
}

// reportOutdated reports that a source which becomes the baseline was written after pods were created: they may lack what it
// has, and are not restarted for it. A policy whose status is lost with what it was owed, as by a deletion, says so by this.
func (r *run) reportOutdated(t *target, s *Signal) {
	written := s.valuesTime()
	if s.Fingerprint == "" || s.Ignored || written.IsZero() || t.workload.Unselected {
		return
	}
	// Pods of the same second are usually those of an installation, which came after its configuration.
	old := func(p Pod) bool { return !p.Terminating && p.Created.Before(written.UTC().Truncate(time.Second)) }
	if slices.ContainsFunc(t.workload.Pods, old) {
		r.addMessage(Message{Reason: autorebootv1.EventPodsOutdated, Target: t.id(),
			Text: targetText(t.id()) + " has pods that are older than the content of " + s.Source +
				", which is the baseline now: they are not restarted for it, unless by the annotation " + autorebootv1.RestartNowAnnotation})
	}
}

// adoptRenamed gives baselines of a trigger that the spec does not have any more to the trigger that has the same source
// now, which is the same under another name: what it was last restarted for, and what it is owed.
func (r *run) adoptRenamed(t *target) {
	renamed := map[string][]string{}
	for _, s := range t.signals {
		if s.Level {
			r.adoptLevel(t, s, renamed)
		}
		if s.Trigger == autorebootv1.RestartNowTrigger || !s.hasBaseline() || t.baseline(s) != nil {
			continue
		}
		for i := range t.Baselines {
			b := &t.Baselines[i]
			if _, specified := r.order[b.Trigger]; !specified && b.Source == s.Source {
				renamed[b.Trigger] = append(renamed[b.Trigger], s.Trigger)
				b.Trigger = s.Trigger
				break
			}
		}
	}
	if len(renamed) == 0 {
		return
	}
	if t.Pending != nil {
		t.Pending.Triggers = r.renameTriggers(t.Pending.Triggers, renamed)
	}
	if f := r.inFlight(t.id()); f != nil {
		f.Triggers = r.renameTriggers(f.Triggers, renamed)
	}
}

// adoptLevel gives the place of a trigger without baselines, which asked and which the spec does not have any more, to a new
// one of that sort.
func (r *run) adoptLevel(t *target, s *Signal, renamed map[string][]string) {
	if slices.ContainsFunc(r.policy.Status.Triggers, func(known autorebootv1.TriggerStatus) bool { return known.Name == s.Trigger }) {
		return
	}
	var asked []string
	if t.Pending != nil {
		asked = t.Pending.Triggers
	}
	if f := r.inFlight(t.id()); f != nil {
		asked = f.Triggers
	}
	for _, name := range asked {
		_, specified := r.order[name]
		if !specified && renamed[name] == nil && !slices.ContainsFunc(t.Baselines,
			func(b autorebootv1.Baseline) bool { return b.Trigger == name }) {
			renamed[name] = []string{s.Trigger}
			return
		}
	}
}

// renameTriggers returns a list of triggers under the names that they have now, in their order and each once.
func (r *run) renameTriggers(old []string, renamed map[string][]string) []string {
	var names []string
	for _, name := range old {
		if now := renamed[name]; now != nil {
			names = append(names, now...)
		} else {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return r.order[a] - r.order[b] })
	return slices.Compact(names)
}

// isOwedFor reports whether a target may be owed a restart for a source whose set of counted keys changed. Its content then
// cannot be compared with the baseline. The target is owed one if a restart is pending, or if the source was written while none
// could become pending. A retry is owed whatever its baselines are. They moved when the failed restart was planned, so other
// keys alone are no new content for it.
func (r *run) isOwedFor(t *target, s *Signal, b *autorebootv1.Baseline) bool {
	if t.isPendingFor(s.Trigger) {
		return !t.retryPending() || t.isCorrected() || s.Recorded.After(timeOf(b.WrittenTime))
	}
	unknown := slices.ContainsFunc(r.policy.Status.Triggers, func(known autorebootv1.TriggerStatus) bool {
		return known.Name == s.Trigger && known.State == autorebootv1.TriggerUnknown
	})
	return (unknown || t.isBack || r.inFlight(t.id()) != nil) && s.Recorded.After(timeOf(b.WrittenTime))
}

// setBaselines makes the current fingerprints the baselines: of one signal, or of all if it is nil.
func (r *run) setBaselines(t *target, only *Signal) {
	for _, s := range t.signals {
		if s.Level || s.Unknown != "" || (only != nil && s != only) || s.isWithdrawn() {
			continue
		}
		if b := t.baseline(s); b != nil {
			*b = baselineOf(s)
		}
	}
}

// settleBaselines moves the baseline of each source that is settling to its latest content. The pods of the restart that begins
// have that content, which must not restart them again once it counts.
func (t *target) settleBaselines() {
	for _, s := range t.signals {
		if b := t.baseline(s); b != nil && s.Settling != "" && s.Unknown == "" {
			b.Fingerprint = text.Truncate(s.Settling, maxFingerprint)
		}
	}
}

// dropAnswers forgets that the checks of the triggers of a restart have succeeded: what the restart does not heal is not
// restarted for again.
func (r *run) dropAnswers(t *target, f *autorebootv1.InFlightRestart) {
	t.Baselines = slices.DeleteFunc(t.Baselines, func(b autorebootv1.Baseline) bool {
		return r.isLevel(b.Trigger) && slices.Contains(f.Triggers, b.Trigger)
	})
}

// hasUnknownSource reports whether a source without a baseline cannot be read: that of a trigger which was renamed may be
// its.
func (t *target) hasUnknownSource() bool {
	return slices.ContainsFunc(t.signals, func(s *Signal) bool { return s.Unknown != "" && !s.Level && t.baseline(s) == nil })
}

// contentOf returns a digest of the fingerprints of all sources of a target. It is empty if there are none.
func (r *run) contentOf(t *target, fingerprint func(*target, *Signal) string) string {
	var parts []string
	for _, s := range t.signals {
		if r.isContent(s) {
			parts = append(parts, s.Source+"\x00"+fingerprint(t, s))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return shortDigest(parts)
}

// baselineFingerprint returns the fingerprint of the content that the target was last restarted for. currentFingerprint returns
// that of the present content, as far as it is known.
func (t *target) baselineFingerprint(s *Signal) string {
	if b := t.baseline(s); b != nil {
		return b.Fingerprint
	}
	return ""
}

func (t *target) currentFingerprint(s *Signal) string {
	if s.Unknown != "" {
		return t.baselineFingerprint(s)
	}
	return s.fingerprint()
}

func (t *target) baseline(s *Signal) *autorebootv1.Baseline {
	for i := range t.Baselines {
		if b := &t.Baselines[i]; b.Trigger == s.Trigger && b.Source == s.Source {
			return b
		}
	}
	return nil
}

// hasBaseline reports whether the status remembers something of the signal.
func (s *Signal) hasBaseline() bool { return !s.Level || s.Source != "" }

func (s *Signal) fingerprint() string { return text.Truncate(s.Fingerprint, maxFingerprint) }

// isWithdrawn reports whether the restart-now annotation was removed: it asks for nothing, and its baseline stays.
func (s *Signal) isWithdrawn() bool {
	return s.Trigger == autorebootv1.RestartNowTrigger && s.Fingerprint == ""
}

func (s *Signal) isSilent(baseline string) bool {
	switch {
	case s.Ignored:
		return true
	case s.isWithdrawn():
		return false
	case s.Incomparable:
		return true
	case baseline == "":
		return s.SilentCreate
	default:
		return s.Fingerprint == "" && s.SilentDelete
	}
}

func baselineOf(s *Signal) autorebootv1.Baseline {
	b := autorebootv1.Baseline{Trigger: s.Trigger, Source: s.Source, Fingerprint: s.fingerprint(), Keys: s.Keys}
	if s.Keys != "" && !s.Recorded.IsZero() {
		recorded := metav1.NewTime(s.Recorded.UTC().Truncate(time.Second))
		b.WrittenTime = &recorded
	}
	if s.Expires != nil {
		expires := metav1.NewTime(s.Expires.UTC().Truncate(time.Second))
		b.ExpirationTime = &expires
	}
	return b
}
