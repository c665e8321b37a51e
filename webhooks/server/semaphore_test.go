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

// enters asks for a place in the background, and waits until the gate knows of that.
func enters(ctx context.Context, t *testing.T, g *gate, source string, n int64) <-chan *place {
	t.Helper()
	before := g.count()
	granted := make(chan *place, 1)
	go func() {
		p, err := g.enter(ctx, source, n, time.Minute)
		if err != nil {
			p = nil
		}
		granted <- p
	}()
	eventually(t, "the gate knows of another caller", func() bool { return g.count() > before })
	return granted
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) + len(g.places)
}

func TestTheNextTurnIsThatOfTheSourceThatHoldsLeast(t *testing.T) {
	g := newGate(2)
	first, err := g.enter(t.Context(), "hostile", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.enter(t.Context(), "hostile", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var crowd []<-chan *place
	for range 100 {
		crowd = append(crowd, enters(t.Context(), t, g, "hostile", 1))
	}
	good := enters(t.Context(), t, g, "API server", 1)
	first.leave()
	p := <-good
	for i, other := range crowd {
		select {
		case <-other:
			t.Fatalf("caller %d of the crowd came first", i)
		default:
		}
	}
	p.leave()
	second.leave()
	for first, last := 0, len(crowd)-1; first <= last; { // the oldest and the newest take turns
		var p *place
		select {
		case p = <-crowd[first]:
			first++
		case p = <-crowd[last]:
			last--
		}
		p.leave()
	}
	if g.used != 0 || len(g.held) != 0 || len(g.places) != 0 || len(g.waiting) != 0 {
		t.Errorf("in the end %d are used by %v", g.used, g.held)
	}
}

func TestACallerThatGivesUpWaitingHoldsNothing(t *testing.T) {
	g := newGate(10)
	p, err := g.enter(t.Context(), "a", 7, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	left := errors.New("the caller left")
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := g.enter(ctx, "b", 100, time.Minute) // as much as there is
		gaveUp <- err
	}()
	eventually(t, "it waits", func() bool { return g.count() == 2 })
	cancel(left)
	if err := <-gaveUp; !errors.Is(err, left) {
		t.Errorf("error is %v", err)
	}
	(<-enters(t.Context(), t, g, "b", 3)).leave()
	if _, err := g.enter(t.Context(), "b", 4, time.Millisecond); err == nil {
		t.Error("there was room for more than there is")
	}
	p.leave()
	p, err = g.enter(t.Context(), "b", 100, time.Minute)
	if err != nil || p.n != 10 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestSlowCallersMakeRoomForOthersAndWorkingOnesDoNot(t *testing.T) {
	g := newGate(3)
	var ended atomic.Int32
	place := func() *place {
		p, err := g.enter(t.Context(), "hostile", 1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	working, slow, young := place(), place(), place()
	slow.slow(func() { ended.Add(1); go slow.leave() }, 0)
	young.slow(func() { ended.Add(100); go young.leave() }, time.Hour)
	good := <-enters(t.Context(), t, g, "API server", 1)
	if n := ended.Load(); n != 1 {
		t.Errorf("ended %d; 1 is the slow one, 100 the one that has just begun", n)
	}
	good.leave()
	working.leave()
}
