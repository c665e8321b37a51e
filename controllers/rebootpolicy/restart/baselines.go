// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// tooManySources is why a trigger is not wholly observed where a target has more sources than the
// status can remember.
const tooManySources = "TooManySources"

// refreshAfter is how much later than a baseline remembers its source must have been written, with the same
// content, for that to be stored. A source whose metadata changes all the time must not have the status
// written as often.
const refreshAfter = 10 * time.Minute

// signals are those of a target that count, in order and each once: of triggers that the spec has,
// and no more than the status can remember.
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
		if !s.Level && s.Unknown == "" {
			if remembered == maxBaselines {
				r.unobservable[s.Trigger] = tooManySources
				continue
			}
			remembered++
		}
		kept = append(kept, s)
	}
	return kept
}

// updateBaselines brings the baselines of a target in line with its signals: what is seen for the first
// time, and what changes silently, becomes the baseline; what is gone from the spec is dropped.
func (r *run) updateBaselines(t *target) {
	t.signals = r.signals(t.workload)
	old := make(map[[2]string]autorebootv1.Baseline, len(t.Baselines))
	for _, b := range t.Baselines {
		old[[2]string{b.Trigger, b.Source}] = b
	}
	var baselines []autorebootv1.Baseline
	// told are triggers whose list of sources is whole, so that others of it are gone.
	told := map[string]bool{}
	for _, s := range t.signals {
		if s.Unknown != "" {
			if r.unobservable[s.Trigger] == "" {
				r.unobservable[s.Trigger] = clip(s.Unknown, maxFingerprint)
			}
			told[s.Trigger] = false
			continue
		}
		if _, ok := told[s.Trigger]; !ok {
			told[s.Trigger] = true
		}
		if s.Level {
			continue
		}
		if !s.SettlesAt.IsZero() {
			r.settlesAt[s.Trigger] = s.SettlesAt
		}
		key := [2]string{s.Trigger, s.Source}
		b, ok := old[key]
		delete(old, key)
		switch {
		case !ok && s.Trigger == autorebootv1.RestartNowTrigger && !t.isNew:
			// There was no annotation before.
			b = autorebootv1.Baseline{Trigger: s.Trigger, Source: s.Source}
		case !ok:
			b = baselineOf(s)
		case b.Fingerprint != s.fingerprint() && s.isSilent(b.Fingerprint):
			b = baselineOf(s)
			r.changed[s.Trigger] = true
		case b.Fingerprint == s.fingerprint() && s.Keys != "" && (b.Keys == "" || s.Recorded.After(timeOf(b.WrittenTime).Add(refreshAfter))):
			// It was stored by a version that did not remember all of it; or the source was written, and a
			// key that is removed later must not be taken for that.
			b = baselineOf(s)
		}
		baselines = append(baselines, b)
	}
	for _, b := range t.Baselines {
		_, specified := r.order[b.Trigger]
		if _, left := old[[2]string{b.Trigger, b.Source}]; left && specified && !told[b.Trigger] && len(baselines) < maxBaselines {
			baselines = append(baselines, b)
		}
	}
	slices.SortFunc(baselines, func(a, b autorebootv1.Baseline) int {
		return cmp.Or(strings.Compare(a.Trigger, b.Trigger), strings.Compare(a.Source, b.Source))
	})
	t.Baselines = baselines
}

// setBaselines makes the baseline what is there now: of one signal, or of all where it is nil.
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

func (t *target) baseline(s *Signal) *autorebootv1.Baseline {
	for i := range t.Baselines {
		if b := &t.Baselines[i]; b.Trigger == s.Trigger && b.Source == s.Source {
			return b
		}
	}
	return nil
}

func (s *Signal) fingerprint() string { return clip(s.Fingerprint, maxFingerprint) }

// isWithdrawn is the annotation that was taken away: it asks for nothing, and its token stays the one
// that was acted on.
func (s *Signal) isWithdrawn() bool {
	return s.Trigger == autorebootv1.RestartNowTrigger && s.Fingerprint == ""
}

func (s *Signal) isSilent(baseline string) bool {
	switch {
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
		b.Expires = &expires
	}
	return b
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
