// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// grace is how long the server waits for a caller before its place is taken for the sake of another one.
	// It is shorter than slack, which counts where no other one waits.
	grace = 250 * time.Millisecond
	// evictEvery is how often those who wait look for something that has become old enough.
	evictEvery = 50 * time.Millisecond
)

// gate bounds how much is held at once, such as bytes. Callers wait for their turn, and the next turn is
// that of the caller whose source holds least: many requests of one source wait for each other and not
// in front of those of another one. Of one source, the one that came last and the one that came first take
// turns: an endless series must not stay in front of one that comes once, and no request must wait
// for ever.
type gate struct {
	size int64

	mu      sync.Mutex
	used    int64
	held    map[string]int64 // by source
	places  map[*place]struct{}
	waiting []*place // in the order of their arrival
	oldest  bool     // the next turn is that of the oldest
}

// place is what a caller has of a gate, or waits for.
type place struct {
	gate   *gate
	source string
	n      int64
	turn   chan struct{} // closed when it is granted

	cut     func()        // ends a caller that is slow; nil while it cannot be ended
	since   time.Time     // since when it is waited for
	waited  time.Duration // for how long it was before
	evicted bool
}

func newGate(size int64) *gate {
	return &gate{size: size, held: make(map[string]int64), places: make(map[*place]struct{})}
}

// enter waits for n, or for all there is where n is more, but no longer than the wait and the context last.
func (g *gate) enter(ctx context.Context, source string, n int64, wait time.Duration) (*place, error) {
	p := &place{gate: g, source: source, n: min(n, g.size), turn: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, p)
	g.grant()
	g.mu.Unlock()
	select {
	case <-p.turn:
		return p, nil
	default:
	}
	end, tick := time.NewTimer(wait), time.NewTicker(evictEvery)
	defer end.Stop()
	defer tick.Stop()
	for {
		select {
		case <-p.turn:
			return p, nil
		case <-tick.C:
			g.evict()
		case <-end.C:
			p.leave()
			return nil, fmt.Errorf("no turn within %s", wait)
		case <-ctx.Done():
			p.leave()
			return nil, context.Cause(ctx)
		}
	}
}

// leave gives the place back, or gives up waiting for it. A nil place has nothing to give back.
func (p *place) leave() {
	if p == nil {
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, has := g.places[p]; has {
		delete(g.places, p)
		g.used -= p.n
		if g.held[p.source] -= p.n; g.held[p.source] == 0 {
			delete(g.held, p.source)
		}
	} else {
		for i, other := range g.waiting {
			if other == p {
				g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
				break
			}
		}
	}
	g.grant()
}

// slow records that the caller goes on at its own pace, and how to end that; it may take so long before it is
// slow.
func (p *place) slow(cut func(), allowed time.Duration) {
	if p == nil {
		return
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.cut, p.since, p.waited = cut, time.Now().Add(allowed), 0
}

// wait records that the caller is waited for from now on, or no longer.
func (p *place) wait(begins bool) {
	if p == nil {
		return
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	now := time.Now()
	if !begins {
		p.waited, now = p.kept(now), time.Time{}
	}
	p.since = now
}

// kept is how long the server has waited for it.
func (p *place) kept(now time.Time) time.Duration {
	if p.since.IsZero() {
		return p.waited
	}
	return p.waited + now.Sub(p.since)
}

// grant lets in who is next for as long as there is room.
func (g *gate) grant() {
	for len(g.waiting) > 0 {
		next := g.next()
		p := g.waiting[next]
		if g.used+p.n > g.size {
			return
		}
		g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
		g.oldest = !g.oldest
		g.used += p.n
		g.held[p.source] += p.n
		g.places[p] = struct{}{}
		close(p.turn)
	}
}

// next is the last, or the first, of those whose source holds least.
func (g *gate) next() (at int) {
	for i, p := range g.waiting {
		if least := g.held[g.waiting[at].source]; g.held[p.source] < least || g.held[p.source] == least && !g.oldest {
			at = i
		}
	}
	return at
}

// evict ends as many callers that are slow as the next one needs, from the source that holds most and
// the slowest first.
func (g *gate) evict() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return
	}
	coming := g.size - g.used
	for p := range g.places {
		if p.evicted {
			coming += p.n
		}
	}
	now := time.Now()
	for need := g.waiting[g.next()].n; coming < need; {
		var worst *place
		for p := range g.places {
			switch {
			case p.evicted || p.cut == nil || p.kept(now) < grace:
			case worst == nil, g.held[p.source] > g.held[worst.source],
				g.held[p.source] == g.held[worst.source] && p.kept(now) > worst.kept(now):
				worst = p
			}
		}
		if worst == nil {
			return
		}
		worst.evicted = true
		worst.cut()
		coming += worst.n
	}
}

// places are what one caller has of a gate.
type places []*place

func (all places) slow(cut func(), allowed time.Duration) {
	for _, p := range all {
		p.slow(cut, allowed)
	}
}

func (all places) wait(begins bool) {
	for _, p := range all {
		p.wait(begins)
	}
}

func (all places) leave() {
	for _, p := range all {
		p.leave()
	}
}

// gates are those of the paths, one for each.
type gates struct {
	size int64

	mu sync.Mutex
	by map[string]*gate
}

// of is the gate of a path, which is a registered one.
func (g *gates) of(path string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by[path] == nil {
		g.by[path] = newGate(g.size)
	}
	return g.by[path]
}

// all are the gates by path.
func (g *gates) all() map[string]*gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.by)
}
