// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// firstRest is how long a bundle that was written and did not last is left alone: doubled each time
	// that happens in a row, up to what the kind of the target allows.
	firstRest = 10 * time.Second
	// peace is how long a bundle must have lasted before the next loss is the first again. A delivery tool
	// that takes it away every few minutes is thus met ever more seldom.
	peace = 10 * time.Minute
)

// budget bounds how often targets are written. Another writer who keeps changing a bundle, such as a
// delivery tool whose manifests contain one, would otherwise be met by a write each time, and each write of
// a definition makes the API server convert all stored objects.
type budget struct {
	clock   clock.Clock
	burst   int
	refill  rate.Limit
	mu      sync.Mutex
	ledgers map[target]*ledger // one for each target there is
}

// ledger is what is known of the writes to one target.
type ledger struct {
	tokens *rate.Limiter
	most   time.Duration // the longest rest
	bundle []byte        // that was put there last, by any replica
	at     time.Time     // when
	lost   int           // how often in a row it did not last
	gone   bool          // it is not there now
	seen   bool          // a bundle of ours was there
}

func newBudget(o Options) *budget {
	b := &budget{clock: o.Clock, burst: o.WriteBurst, refill: rate.Every(o.WriteEvery), ledgers: map[target]*ledger{}}
	for _, t := range o.targets() {
		b.ledgers[t] = &ledger{tokens: rate.NewLimiter(b.refill, b.burst), most: t.kind.mostRest}
	}
	return b
}

// rest is how long the target is left alone after its last write.
func (l *ledger) rest() time.Duration {
	return min(firstRest<<min(l.lost, 12), l.most)
}

// withheldError is a write that the budget does not allow yet.
type withheldError struct {
	error
	until time.Time
}

// ask is nil where the target may be written now. The error is a *withheldError that names who keeps
// changing it.
func (b *budget) ask(t target, bundle []byte, writer string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, now := b.ledgers[t], b.clock.Now()
	if until := l.at.Add(l.rest()); l.bundle != nil && same(l.bundle, bundle) && now.Before(until) {
		return &withheldError{fmt.Errorf("%s: another one stands there than the CA bundle that was written, which was lost %d times in a row to %s: have it leave caBundle out; until then it is written again after %s",
			t, l.lost+1, writer, l.rest()), until}
	}
	if tokens := l.tokens.TokensAt(now); tokens < 1 {
		every := time.Duration(float64(time.Second) / float64(b.refill))
		return &withheldError{fmt.Errorf("%s: its CA bundle was written too often, lastly over that of %s: it is written once in %s now; find out who else writes it (kubectl get --show-managed-fields)",
			t, writer, every), now.Add(time.Duration((1-tokens)*float64(every)) + time.Millisecond)}
	}
	return nil
}

// wrote notes a write.
func (b *budget) wrote(t target, bundle []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledgers[t].put(bundle, b.clock.Now())
}

// put notes that the bundle was written, by this replica or another.
func (l *ledger) put(bundle []byte, now time.Time) {
	if l.bundle != nil && same(l.bundle, bundle) {
		l.lost++
	} else {
		l.lost = 0
	}
	l.bundle, l.at, l.gone = bundle, now, false
	l.tokens.AllowN(now, 1)
}

// stands notes that the target was found with the bundle. Where it was not there before, another replica
// has put it back: that counts as a write of this one, or each replica would fight for itself.
func (b *budget) stands(t target, bundle []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[t]
	if l.gone {
		l.put(bundle, b.clock.Now())
	}
	l.bundle, l.seen = bundle, true
	l.rested(b.clock.Now())
}

// misses notes that the target was found without the bundle, and reports whether that is news: it was there
// before. A nil bundle means any.
func (b *budget) misses(t target, bundle []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[t]
	if l.gone {
		return false
	}
	l.rested(b.clock.Now())
	l.gone = true
	return l.seen && (bundle == nil || same(l.bundle, bundle))
}

// rested forgets former losses of a bundle that has lasted.
func (l *ledger) rested(now time.Time) {
	if !l.gone && !now.Before(l.at.Add(max(peace, 2*l.rest()))) {
		l.lost = 0
	}
}

// kept reports whether the target had a bundle of ours since this process began.
func (b *budget) kept(t target) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledgers[t].seen
}
