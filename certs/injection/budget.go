// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/api/common"
)

const (
	// initialBackoff is how long a target whose bundle was lost is not written again with the same one. It
	// doubles with each loss in a row, up to the maximum of the kind.
	initialBackoff = 10 * time.Second
	// stableAfter is how long a bundle must have lasted before the next loss counts as the first. A
	// delivery tool that removes it every few minutes is thus overwritten ever more rarely.
	stableAfter = 10 * time.Minute
)

// writeBudget bounds how often targets are written. Otherwise each write of another manager that keeps
// changing a bundle, such as a delivery tool whose manifests contain one, would be followed by one of ours,
// and each write of a CRD makes the API server convert all stored objects.
type writeBudget struct {
	clock     clock.Clock
	burst     int
	refill    rate.Limit
	mu        sync.Mutex
	histories map[target]*writeHistory
}

// writeHistory records the writes to one target.
type writeHistory struct {
	tokens     *rate.Limiter
	maxBackoff time.Duration // of the kind
	bundle     []byte        // written last, by any replica
	writtenAt  time.Time     // when
	losses     int           // losses in a row
	missing    bool          // the bundle is not there now
	hadBundle  bool          // since this process started
}

func newWriteBudget(o Options) *writeBudget {
	b := &writeBudget{clock: o.Clock, burst: o.WriteBurst, refill: rate.Every(o.WriteEvery), histories: map[target]*writeHistory{}}
	for _, t := range o.targets() {
		b.histories[t] = &writeHistory{tokens: rate.NewLimiter(b.refill, b.burst), maxBackoff: t.kind.maxBackoff}
	}
	return b
}

// backoff is how long the target is not written again after its last write.
func (w *writeHistory) backoff() time.Duration {
	return min(initialBackoff<<min(w.losses, 12), w.maxBackoff)
}

// withheldError is a write that the budget does not allow yet.
type withheldError struct {
	error
	until time.Time
}

// allow returns nil where the target may be written now, and otherwise a *withheldError that names who keeps
// changing it.
func (b *writeBudget) allow(t target, bundle []byte, writer string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, now := b.histories[t], b.clock.Now()
	if until := l.writtenAt.Add(l.backoff()); l.bundle != nil && sameRoots(l.bundle, bundle) && now.Before(until) {
		return &withheldError{fmt.Errorf("%s: the CA bundle that was written was removed or replaced %d times in a row, last by %s: remove caBundle from what it applies; until then it is written again after %s",
			t, l.losses+1, writer, common.DurationOf(l.backoff())), until}
	}
	if tokens := l.tokens.TokensAt(now); tokens < 1 {
		every := time.Duration(float64(time.Second) / float64(b.refill))
		return &withheldError{fmt.Errorf("%s: its CA bundle was written too often, lastly over that of %s: it is written at most once in %s now; find out who else writes it (kubectl get --show-managed-fields)",
			t, writer, common.DurationOf(every)), now.Add(time.Duration((1-tokens)*float64(every)) + time.Millisecond)}
	}
	return nil
}

func (b *writeBudget) recordWrite(t target, bundle []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.histories[t].recordWrite(bundle, b.clock.Now())
}

// recordWrite records a write of the bundle by this replica or another.
func (w *writeHistory) recordWrite(bundle []byte, now time.Time) {
	if w.bundle != nil && sameRoots(w.bundle, bundle) {
		w.losses++
	} else {
		w.losses = 0
	}
	w.bundle, w.writtenAt, w.missing, w.hadBundle = bundle, now, false, true
	w.tokens.AllowN(now, 1)
}

// recordPresent records that the target has the bundle. Where it did not before, another replica has written
// it: that counts as a write of this one, or each replica would compete separately.
func (b *writeBudget) recordPresent(t target, bundle []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.histories[t]
	if l.missing {
		l.recordWrite(bundle, b.clock.Now())
	}
	l.bundle, l.hadBundle = bundle, true
	l.resetIfStable(b.clock.Now())
}

// recordMissing records that the target lacks the bundle, and reports whether it had it before. A nil bundle
// means any.
func (b *writeBudget) recordMissing(t target, bundle []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.histories[t]
	if l.missing {
		return false
	}
	l.resetIfStable(b.clock.Now())
	l.missing = true
	return l.hadBundle && (bundle == nil || sameRoots(l.bundle, bundle))
}

// resetIfStable forgets the losses of a bundle that has lasted.
func (w *writeHistory) resetIfStable(now time.Time) {
	if !w.missing && !now.Before(w.writtenAt.Add(max(stableAfter, 2*w.backoff()))) {
		w.losses = 0
	}
}

// hadBundle reports whether the target had a bundle of ours since this process started.
func (b *writeBudget) hadBundle(t target) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.histories[t].hadBundle
}
