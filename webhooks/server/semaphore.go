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
func (s *semaphore) acquire(ctx context.Context, source string, n int64, wait time.Duration) (*permit, error) {
	p := &permit{semaphore: s, source: source, n: min(n, s.size), granted: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, p)
	s.grant()
	s.mu.Unlock()
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
			s.evict()
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
func (s *semaphore) grant() {
	for len(s.waiting) > 0 {
		next := s.next()
		p := s.waiting[next]
		if s.used+p.n > s.size {
			return
		}
		s.waiting = append(s.waiting[:next], s.waiting[next+1:]...)
		s.oldest = !s.oldest
		s.used += p.n
		s.bySource[p.source] += p.n
		s.held[p] = struct{}{}
		close(p.granted)
	}
}

// next returns the last, or the first, of those whose source holds least.
func (s *semaphore) next() (at int) {
	for i, p := range s.waiting {
		if least := s.bySource[s.waiting[at].source]; s.bySource[p.source] < least || s.bySource[p.source] == least && !s.oldest {
			at = i
		}
	}
	return at
}

// evict ends as many slow callers as the next one needs, of the source that holds most and the slowest
// first.
func (s *semaphore) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return
	}
	coming := s.size - s.used
	for p := range s.held {
		if p.evicted {
			coming += p.n
		}
	}
	now := time.Now()
	for need := s.waiting[s.next()].n; coming < need; {
		var worst *permit
		for p := range s.held {
			switch {
			case p.evicted || p.cut == nil || p.waitedFor(now) < grace:
			case worst == nil, s.bySource[p.source] > s.bySource[worst.source],
				s.bySource[p.source] == s.bySource[worst.source] && p.waitedFor(now) > worst.waitedFor(now):
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
func (s *semaphores) of(path string) *semaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[path] == nil {
		s.by[path] = newSemaphore(s.size)
	}
	return s.by[path]
}

// all returns the semaphores by path.
func (s *semaphores) all() map[string]*semaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.by)
}
