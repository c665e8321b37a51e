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
	// grace is how long a caller may be slow before its permit is taken for another caller. It is shorter than slack,
	// which applies if no other caller waits.
	grace = 250 * time.Millisecond
	// evictEvery is how often waiting callers look for a slow caller to evict.
	evictEvery = 50 * time.Millisecond
)

// semaphore bounds how much is held at a time, such as bytes. The next permit goes to the source that holds least, so
// that many requests of one source do not delay those of another. Within a source, the newest and the oldest request
// take turns. An endless series then does not stay in front of a single request, and no request waits forever.
type semaphore struct {
	size int64

	mu       sync.Mutex
	used     int64
	bySource map[string]int64 // by source
	held     map[*permit]struct{}
	waiting  []*permit // in the order of their arrival
	oldest   bool      // the next turn is that of the oldest
}

// permit is a caller's share of a semaphore, granted or waited for.
type permit struct {
	semaphore *semaphore
	source    string
	n         int64
	granted   chan struct{} // closed when it is granted

	cut     func()        // ends the caller if it is slow; nil while it must not be evicted
	since   time.Time     // when the server began to wait for the caller; zero if it does not
	waited  time.Duration // how long the server had waited for the caller before that
	evicted bool
}

func newSemaphore(size int64) *semaphore {
	return &semaphore{size: size, bySource: make(map[string]int64), held: make(map[*permit]struct{})}
}

// acquire waits for n, or for the whole size if n is larger. It waits until ctx ends, and no longer than wait.
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

// release returns the permit, or ends the wait for it. On a nil permit it does nothing.
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

// allowEviction sets the function that ends the caller if it is slow: if the server has waited for it for longer than
// allowed. With a nil function, the caller must not be ended.
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

// grant grants permits to the next waiting callers while there is room.
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

// next returns the index of the waiting caller whose turn is next: the newest or the oldest of the source that holds
// least.
func (s *semaphore) next() (at int) {
	for i, p := range s.waiting {
		if least := s.bySource[s.waiting[at].source]; s.bySource[p.source] < least || s.bySource[p.source] == least && !s.oldest {
			at = i
		}
	}
	return at
}

// evict ends as many slow callers as the next one needs. It begins with the source that holds most, and its slowest
// caller.
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

// semaphores holds a semaphore for each path.
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
