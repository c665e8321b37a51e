// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// enters acquires a permit in the background, and returns once the semaphore has counted the caller.
func enters(ctx context.Context, t *testing.T, g *semaphore, source string, n int64) <-chan *permit {
	t.Helper()
	before := g.count()
	granted := make(chan *permit, 1)
	go func() {
		p, err := g.acquire(ctx, source, n, time.Minute)
		if err != nil {
			p = nil
		}
		granted <- p
	}()
	eventually(t, "the semaphore counts another caller", func() bool { return g.count() > before })
	return granted
}

func (s *semaphore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) + len(s.held)
}

func TestTheNextTurnIsThatOfTheSourceThatHoldsLeast(t *testing.T) {
	g := newSemaphore(2)
	first, err := g.acquire(t.Context(), "hostile", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.acquire(t.Context(), "hostile", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var crowd []<-chan *permit
	for range 100 {
		crowd = append(crowd, enters(t.Context(), t, g, "hostile", 1))
	}
	good := enters(t.Context(), t, g, "API server", 1)
	first.release()
	p := <-good
	for i, other := range crowd {
		select {
		case <-other:
			t.Fatalf("caller %d of the crowd came first", i)
		default:
		}
	}
	p.release()
	second.release()
	for first, last := 0, len(crowd)-1; first <= last; { // the oldest and the newest take turns
		var p *permit
		select {
		case p = <-crowd[first]:
			first++
		case p = <-crowd[last]:
			last--
		}
		p.release()
	}
	if g.used != 0 || len(g.bySource) != 0 || len(g.held) != 0 || len(g.waiting) != 0 {
		t.Errorf("in the end %d are used by %v", g.used, g.bySource)
	}
}

func TestACallerThatGivesUpWaitingHoldsNothing(t *testing.T) {
	g := newSemaphore(10)
	p, err := g.acquire(t.Context(), "a", 7, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	left := errors.New("the caller left")
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := g.acquire(ctx, "b", 100, time.Minute) // as much as there is
		gaveUp <- err
	}()
	eventually(t, "it waits", func() bool { return g.count() == 2 })
	cancel(left)
	if err := <-gaveUp; !errors.Is(err, left) {
		t.Errorf("error is %v", err)
	}
	(<-enters(t.Context(), t, g, "b", 3)).release()
	if _, err := g.acquire(t.Context(), "b", 4, time.Millisecond); err == nil {
		t.Error("there was room for more than there is")
	}
	p.release()
	p, err = g.acquire(t.Context(), "b", 100, time.Minute)
	if err != nil || p.n != 10 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestSlowCallersMakeRoomForOthersAndWorkingOnesDoNot(t *testing.T) {
	g := newSemaphore(3)
	var ended atomic.Int32
	place := func() *permit {
		p, err := g.acquire(t.Context(), "hostile", 1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	working, slow, young := place(), place(), place()
	slow.allowEviction(func() { ended.Add(1); go slow.release() }, 0)
	young.allowEviction(func() { ended.Add(100); go young.release() }, time.Hour)
	good := <-enters(t.Context(), t, g, "API server", 1)
	if n := ended.Load(); n != 1 {
		t.Errorf("ended %d; 1 is the slow one, 100 the one that has just begun", n)
	}
	good.release()
	working.release()
}
