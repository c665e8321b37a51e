// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

func TestANameIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{})
		f.setAnswer("db.example.com", "a")
		name := named("db.example.com")
		if s := f.Set(key("db"), []Name{name})[0]; s.LookedUp || s.Reason != "" || !s.NextTime.Equal(time.Now()) {
			t.Errorf("before: %+v", s)
		}
		wait(10 * time.Millisecond)
		s := f.Set(key("db"), []Name{name})[0]
		if format(s.Addresses) != "a" || !s.LookedUp || s.Reason != "Resolved" || f.notifications("db") != 1 {
			t.Errorf("after the first lookup: %+v, %d notices", s, f.notifications("db"))
		}
		wait(3 * time.Minute)
		if f.lookupCount("db.example.com") < 3 || f.notifications("db") != 1 {
			t.Errorf("%d lookups, %d notices; want no notice where nothing changes", f.lookupCount("db.example.com"), f.notifications("db"))
		}
		f.setAnswer("db.example.com", "b")
		wait(time.Minute + time.Second)
		if s := f.Set(key("db"), []Name{name})[0]; format(s.Addresses) != "b" || f.notifications("db") != 2 {
			t.Errorf("after a move: %q, %d notices", format(s.Addresses), f.notifications("db"))
		}
		f.setAnswer("db.example.com", "ServFail | Timeout")
		wait(time.Minute + time.Second)
		if s := f.Set(key("db"), []Name{name})[0]; format(s.Addresses) != "b" || s.Reason != "Stale" || s.Cause != "ServFail" {
			t.Errorf("after a failure: %+v", s)
		}
		f.Forget(key("db"))
		before := f.lookupCount("db.example.com")
		wait(time.Hour)
		if f.lookupCount("db.example.com") != before {
			t.Error("a forgotten name is looked up")
		}
	})
}

func TestNamesKeepTheirStateWhileTheyAreTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{})
		f.setAnswer("a.example.com", "a")
		f.setAnswer("b.example.com", "b")
		f.setAnswer("c.example.com", "c")
		first, second := named("a.example.com"), named("b.example.com")
		f.Set(key("db"), []Name{first, second})
		wait(10 * time.Millisecond)
		second.MinTTL, second.Seed = time.Minute, addresses("z")
		states := f.Set(key("db"), []Name{second, first})
		if format(states[0].Addresses) != "b" || format(states[1].Addresses) != "a" {
			t.Errorf("got %q, %q", format(states[0].Addresses), format(states[1].Addresses))
		}
		first.Host, first.Seed = "c.example.com", addresses("s")
		states = f.Set(key("db"), []Name{first})
		if s := states[0]; s.LookedUp || format(s.Addresses) != "s" {
			t.Errorf("another host: %+v, want the seed", s)
		}
		wait(10 * time.Millisecond)
		first.Records = networkingv1.RecordSRV
		if s := f.Set(key("db"), []Name{first})[0]; s.LookedUp {
			t.Error("other records: want a new state")
		}
		wait(10 * time.Millisecond)
		if s := f.Set(key("db"), []Name{first})[0]; format(s.Addresses) != "s" {
			t.Errorf("SRV: %q", format(s.Addresses))
		}
		if n := f.lookupCount("c.example.com"); n != 2 {
			t.Errorf("%d lookups, want one of each kind", n)
		}
	})
}

// Edits follow each other faster than lookups end, and two endpoints may have one name.
func TestANameHasAllSeedsUntilItResolves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{})
		seeded := func(text string) Name {
			name := named("db.example.com")
			name.Seed = addresses(text)
			return name
		}
		want := func(why, addresses, reason string, names ...Name) {
			t.Helper()
			for _, s := range f.Set(key("db"), names) {
				if format(s.Addresses) != addresses || s.Reason != reason {
					t.Errorf("%s: %q, %s; want %q, %s", why, format(s.Addresses), s.Reason, addresses, reason)
				}
			}
		}
		f.setAnswer("db.example.com", "ServFail")
		want("before it is looked up", "a", "", seeded("a"))
		want("in another edit, by two endpoints", "a b c", "", seeded("b"), seeded("c b"))
		wait(10 * time.Millisecond)
		want("once it has failed", "a b c v6", "Stale", seeded("v6"))
		f.setAnswer("db.example.com", "d")
		wait(time.Minute)
		want("once it resolves", "d", "Resolved", seeded("a"))
	})
}

func TestAnAnswerToANameThatWasReplacedDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{})
		f.takes = time.Second
		f.setAnswer("old.example.com", "o")
		f.setAnswer("new.example.com", "n")
		f.Set(key("db"), []Name{named("old.example.com")})
		wait(500 * time.Millisecond)
		f.Set(key("db"), []Name{named("new.example.com")})
		wait(600 * time.Millisecond)
		if s := f.Set(key("db"), []Name{named("new.example.com")})[0]; s.LookedUp || len(s.Addresses) > 0 || f.notifications("db") > 0 {
			t.Errorf("the old answer counts: %+v, %d notices", s, f.notifications("db"))
		}
		wait(time.Second)
		if s := f.Set(key("db"), []Name{named("new.example.com")})[0]; format(s.Addresses) != "n" {
			t.Errorf("got %q", format(s.Addresses))
		}
	})
}

func TestLookupsOfTheSameNameAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		f := newSuite(t, Options{Registerer: registry})
		f.takes = 20 * time.Millisecond
		f.setAnswer("db.example.com", "a")
		for i := range 30 {
			host := "db.example.com"
			if i%2 == 0 {
				host = "DB.example.com."
			}
			f.Set(key(fmt.Sprint(i)), []Name{named(host)})
		}
		wait(500 * time.Millisecond)
		for i := range 30 {
			if f.notifications(fmt.Sprint(i)) != 1 {
				t.Errorf("object %d was not told", i)
			}
		}
		if n := f.lookupCount("db.example.com"); n != 1 {
			t.Errorf("%d lookups, want 1", n)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					got[label.GetValue()] = metric.GetCounter().GetValue()
				}
				if h := metric.GetHistogram(); h != nil {
					got[family.GetName()] = float64(h.GetSampleCount())
				}
			}
		}
		want := map[string]float64{
			"Resolved": 1, "NXDomain": 0, "ServFail": 0, "Truncated": 0, "AliasLoop": 0, "Timeout": 0, "Denied": 0,
			"fairlead_externalservice_resolve_seconds": 1,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

func TestFirstLookupsAreSpreadAndANewObjectDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{Workers: 64})
		begin := time.Now()
		for i := range 5000 {
			name := named(fmt.Sprintf("n%d.example.com", i))
			name.Seed, name.SeedTime = addresses("a"), begin
			f.Set(key(fmt.Sprint(i)), []Name{name})
		}
		wait(100 * time.Millisecond)
		f.mu.Lock()
		n := len(f.began)
		f.mu.Unlock()
		if n < 64 || n > 64+60 {
			t.Errorf("%d lookups within 100ms, want the burst and 50 more", n)
		}
		f.setAnswer("new.example.com", "n")
		f.Set(key("new"), []Name{named("new.example.com")})
		wait(10 * time.Millisecond)
		if f.lookupCount("new.example.com") != 1 {
			t.Error("a new object waits for those of the start")
		}
		wait(10 * time.Second)
		f.mu.Lock()
		defer f.mu.Unlock()
		for i := range 5000 {
			if f.lookups[fmt.Sprintf("n%d.example.com", i)] == 0 {
				t.Fatalf("name %d was not looked up after 10s", i)
			}
		}
	})
}

func TestNoAnswerFromAnyNameserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *suite
		f = newSuite(t, Options{Ping: func(context.Context) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.pongs
		}})
		pong := func(yes bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.pongs = yes
		}
		pong(true)
		f.setAnswer("slow.example.com", "Timeout | Timeout")
		f.setAnswer("db.example.com", "Timeout | Timeout")
		f.Set(key("slow"), []Name{named("slow.example.com")})
		wait(10 * time.Minute)
		if !f.IsReachable() || f.changes() != "[]" {
			t.Errorf("a slow name alone makes the nameservers unreachable: %s", f.changes())
		}
		pong(false)
		f.Set(key("db"), []Name{named("db.example.com")})
		wait(time.Hour)
		if f.IsReachable() || f.changes() != "[false]" {
			t.Errorf("reachable %t, told %s; want one word that they are gone", f.IsReachable(), f.changes())
		}
		f.setAnswer("db.example.com", "a")
		pong(true)
		wait(6 * time.Second)
		if !f.IsReachable() || f.changes() != "[false true]" {
			t.Errorf("reachable %t, told %s; want word that they are back", f.IsReachable(), f.changes())
		}
		if s := f.Set(key("db"), []Name{named("db.example.com")})[0]; format(s.Addresses) != "a" {
			t.Errorf("%+v; want a lookup as soon as they are back", s)
		}
	})
}

func TestWithoutAPingThreeSilencesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{})
		f.setAnswer("db.example.com", "Timeout | Timeout")
		f.Set(key("db"), []Name{named("db.example.com")})
		wait(6 * time.Second)
		if !f.IsReachable() {
			t.Error("two silences were enough")
		}
		wait(10 * time.Second)
		if f.IsReachable() {
			t.Error("three silences were not enough")
		}
		f.setAnswer("db.example.com", "ServFail | Timeout")
		wait(time.Minute)
		if !f.IsReachable() || f.changes() != "[false true]" {
			t.Errorf("reachable %t, told %s", f.IsReachable(), f.changes())
		}
	})
}

// A loss that is reported after the recovery would stay: nothing asks the nameservers again.
func TestALossIsToldOfBeforeTheRecovery(t *testing.T) {
	var tracker *Tracker
	var mu sync.Mutex
	var told []bool
	recovered := make(chan struct{})
	tracker = New(Options{OnReachable: func(reachable bool) {
		if !reachable {
			go func() {
				tracker.recordReply()
				close(recovered)
			}()
			select {
			case <-recovered:
			case <-time.After(50 * time.Millisecond):
			}
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, reachable)
	}})
	tracker.recordUnreachable()
	<-recovered
	if want := []bool{false, true}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestRunEndsWithItsLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSuite(t, Options{})
		f.takes = time.Hour
		f.Set(key("db"), []Name{named("db.example.com")})
		f.Set(key("other"), []Name{named("db.example.com")})
		wait(time.Second)
		begin := time.Now()
		f.stop()
		if time.Since(begin) > 0 {
			t.Errorf("Run ended %s after its context", time.Since(begin))
		}
		if s := f.Set(key("db"), []Name{named("db.example.com")})[0]; s.LookedUp {
			t.Error("a lookup that was cut off counts")
		}
	})
}

func TestRunSaysThatMetricsWereRefused(t *testing.T) {
	registry := prometheus.NewRegistry()
	New(Options{Registerer: registry})
	if err := New(Options{Registerer: registry}).Run(context.Background()); err == nil {
		t.Error("want an error where the metrics are there already")
	}
}

func TestAnswersAreNotHeldForLong(t *testing.T) {
	now, asked := epoch, 0
	f := &singleflight{calls: map[query]*call{}, now: func() time.Time { return now }}
	f.lookup = func(context.Context, query) dns.Answer {
		asked++
		return dns.Answer{}
	}
	for range 3 {
		if _, err := f.do(context.Background(), query{host: "db.example.com"}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2 * time.Second)
	for i := range 2 * maxShared {
		if _, err := f.do(context.Background(), query{host: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1+2*maxShared || len(f.calls) > maxShared || len(f.finished) > maxShared {
		t.Errorf("%d lookups, %d answers held, %d times of them", asked, len(f.calls), len(f.finished))
	}
	now = now.Add(2 * time.Second)
	if _, err := f.do(context.Background(), query{host: "0"}); err != nil || len(f.calls) != 1 {
		t.Errorf("%d answers held, want the last (%v)", len(f.calls), err)
	}
}
