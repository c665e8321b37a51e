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

// How long a bundle that was written and did not last is left alone: doubled each time it happens
// in a row.
const (
	firstRest = 10 * time.Second
	mostRest  = time.Hour
)

// budget bounds how often targets are written. Somebody who keeps changing a bundle, such as a
// delivery tool whose manifests contain one, would otherwise be answered at every look, and every
// answer makes the API server convert all stored objects.
type budget struct {
	clock   clock.Clock
	burst   int
	refill  rate.Limit
	mu      sync.Mutex
	ledgers map[target]*ledger // one for each target there is
}

// ledger is what was written to one target.
type ledger struct {
	tokens *rate.Limiter
	bundle []byte    // written last
	at     time.Time // when
	lost   int       // how often in a row it did not last
}

func newBudget(o Options) *budget {
	b := &budget{clock: o.Clock, burst: o.WriteBurst, refill: rate.Every(o.WriteEvery), ledgers: map[target]*ledger{}}
	for _, t := range o.targets() {
		b.ledgers[t] = &ledger{tokens: rate.NewLimiter(b.refill, b.burst)}
	}
	return b
}

// rest is how long the target is left alone after its last write.
func (l *ledger) rest() time.Duration {
	return min(firstRest<<min(l.lost, 12), mostRest)
}

// ask is nil where the target may be written now. The error names who keeps changing it.
func (b *budget) ask(t target, bundle []byte, writer string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, now := b.ledgers[t], b.clock.Now()
	if l.bundle != nil && same(l.bundle, bundle) && now.Before(l.at.Add(l.rest())) {
		return fmt.Errorf("%s: another one stands there than the CA bundle that was written, which was lost %d times in a row to %s: have it leave caBundle out; until then it is written again after %s",
			t, l.lost+1, writer, l.rest())
	}
	if l.tokens.TokensAt(now) < 1 {
		return fmt.Errorf("%s: its CA bundle was written too often, lastly over that of %s: it is written once in %s now; find out who else writes it (kubectl get --show-managed-fields)",
			t, writer, time.Duration(float64(time.Second)/float64(b.refill)))
	}
	return nil
}

// wrote notes a write.
func (b *budget) wrote(t target, bundle []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[t]
	if l.bundle != nil && same(l.bundle, bundle) {
		l.lost++
	} else {
		l.lost = 0
	}
	l.bundle, l.at = bundle, b.clock.Now()
	l.tokens.AllowN(l.at, 1)
}

// stands notes that the target was found with the bundle. One that has lasted for twice as long as
// it would have been left alone is not fought over any more.
func (b *budget) stands(t target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.ledgers[t]; !b.clock.Now().Before(l.at.Add(2 * l.rest())) {
		l.lost = 0
	}
}
