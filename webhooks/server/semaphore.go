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
	// grace is how long the server waits for a caller before its permit is taken for another one. It is shorter
	// than slack, which applies where no other one waits.
	grace = 250 * time.Millisecond
	// evictEvery is how often those who wait look for a caller that can be evicted.
	evictEvery = 50 * time.Millisecond
)

// semaphore bounds how much is held at once, such as bytes. The next permit goes to the caller whose source
// holds least: many requests of one source wait for each other, and not in front of those of another one. Of
// one source, the last and the first to arrive are served in turns: an endless series must not stay in front
// of a single request, and no request must wait forever.
type semaphore struct {
	size int64

	mu       sync.Mutex
	used     int64
	bySource map[string]int64 // by source
	held     map[*permit]struct{}
	waiting  []*permit // in the order of their arrival
	oldest   bool      // the next turn is that of the oldest
}

// permit is what a caller has of a semaphore, or waits for.
type permit struct {
	semaphore *semaphore
	source    string
	n         int64
	granted   chan struct{} // closed when it is granted

	cut     func()        // ends a caller that is slow; nil while it cannot be evicted
	since   time.Time     // since when the server waits for it
	waited  time.Duration // for how long the server waited before that
	evicted bool
}

func newSemaphore(size int64) *semaphore {
	return &semaphore{size: size, bySource: make(map[string]int64), held: make(map[*permit]struct{})}
}

// acquire waits for n, or for the whole size where n is more, for no longer than wait and until ctx ends.
func (g *semaphore) acquire(ctx context.Context, source string, n int64, wait time.Duration) (*permit, error) {
	p := &permit{semaphore: g, source: source, n: min(n, g.size), granted: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, p)
	g.grant()
	g.mu.Unlock()
	select {
	case <-p.granted:
		return p, nil
	default:
	}
	end, tick := time.NewTimer(wait), time.NewTicker(evictEvery)
	defer end.Stop()
	defer tick.Stop()
	for {
		select {
		case <-p.granted:
			return p, nil
		case <-tick.C:
			g.evict()
		case <-end.C:
			p.release()
			return nil, fmt.Errorf("no turn within %s", wait)
		case <-ctx.Done():
			p.release()
			return nil, context.Cause(ctx)
		}
	}
}

// release returns the permit, or ends the wait for it. A nil permit holds nothing.
func (p *permit) release() {
	if p == nil {
		return
	}
	g := p.semaphore
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, has := g.held[p]; has {
		delete(g.held, p)
		g.used -= p.n
		if g.bySource[p.source] -= p.n; g.bySource[p.source] == 0 {
			delete(g.bySource, p.source)
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

// allowEviction sets how to end the caller, which counts as slow once the server has waited for it for longer
// than allowed; nil means that it must not be ended.
func (p *permit) allowEviction(cut func(), allowed time.Duration) {
	if p == nil {
		return
	}
	p.semaphore.mu.Lock()
	defer p.semaphore.mu.Unlock()
	p.cut, p.since, p.waited = cut, time.Now().Add(allowed), 0
}

// setWaiting records that the server begins, or ends, to wait for the caller.
func (p *permit) setWaiting(begins bool) {
	if p == nil {
		return
	}
	p.semaphore.mu.Lock()
	defer p.semaphore.mu.Unlock()
	now := time.Now()
	if !begins {
		p.waited, now = p.waitedFor(now), time.Time{}
	}
	p.since = now
}

// waitedFor returns how long the server has waited for the caller.
func (p *permit) waitedFor(now time.Time) time.Duration {
	if p.since.IsZero() {
		return p.waited
	}
	return p.waited + now.Sub(p.since)
}

// grant gives permits to those who are next, as long as there is room.
func (g *semaphore) grant() {
	for len(g.waiting) > 0 {
		next := g.next()
		p := g.waiting[next]
		if g.used+p.n > g.size {
			return
		}
		g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
		g.oldest = !g.oldest
		g.used += p.n
		g.bySource[p.source] += p.n
		g.held[p] = struct{}{}
		close(p.granted)
	}
}

// next returns the last, or the first, of those whose source holds least.
func (g *semaphore) next() (at int) {
	for i, p := range g.waiting {
		if least := g.bySource[g.waiting[at].source]; g.bySource[p.source] < least || g.bySource[p.source] == least && !g.oldest {
			at = i
		}
	}
	return at
}

// evict ends as many slow callers as the next one needs, of the source that holds most and the slowest
// first.
func (g *semaphore) evict() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return
	}
	coming := g.size - g.used
	for p := range g.held {
		if p.evicted {
			coming += p.n
		}
	}
	now := time.Now()
	for need := g.waiting[g.next()].n; coming < need; {
		var worst *permit
		for p := range g.held {
			switch {
			case p.evicted || p.cut == nil || p.waitedFor(now) < grace:
			case worst == nil, g.bySource[p.source] > g.bySource[worst.source],
				g.bySource[p.source] == g.bySource[worst.source] && p.waitedFor(now) > worst.waitedFor(now):
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

// permits are those of one caller.
type permits []*permit

func (all permits) allowEviction(cut func(), allowed time.Duration) {
	for _, p := range all {
		p.allowEviction(cut, allowed)
	}
}

func (all permits) setWaiting(begins bool) {
	for _, p := range all {
		p.setWaiting(begins)
	}
}

func (all permits) release() {
	for _, p := range all {
		p.release()
	}
}

// semaphores are those of the paths, one for each.
type semaphores struct {
	size int64

	mu sync.Mutex
	by map[string]*semaphore
}

// of returns the semaphore of a registered path.
func (g *semaphores) of(path string) *semaphore {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by[path] == nil {
		g.by[path] = newSemaphore(g.size)
	}
	return g.by[path]
}

// all returns the semaphores by path.
func (g *semaphores) all() map[string]*semaphore {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.by)
}
