// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run runs a queue for the rest of a synctest bubble.
func run[K comparable](t *testing.T, a *Queue[K]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// pass lets the bubble's clock run.
func pass(d time.Duration) { <-time.After(d) }

// processed notes which key ran when.
type processed struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (p *processed) add(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintf("%s %s", time.Since(p.began), key))
}

func (p *processed) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if diff := cmp.Diff(want, p.lines); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestKeysRunWhenTheyAreDueAndAgainWhenTheyAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &processed{began: time.Now()}
		a := New(Options[string]{Process: func(_ context.Context, key string) time.Time {
			j.add(key)
			if key == "once" {
				return time.Time{}
			}
			return time.Now().Add(10 * time.Second)
		}})
		defer run(t, a)()
		a.Set("often", time.Now().Add(2*time.Second))
		a.Set("once", time.Now().Add(time.Second))
		a.Set("past", time.Now().Add(-time.Hour))
		pass(15 * time.Second)
		j.want(t, "0s past", "1s once", "2s often", "10s past", "12s often")
		if got := a.Len(); got != 2 {
			t.Errorf("%d keys are left, want 2", got)
		}
	})
}

func TestSetMovesAKeyBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &processed{began: time.Now()}
		a := New(Options[string]{Process: func(_ context.Context, key string) time.Time { j.add(key); return time.Time{} }})
		defer run(t, a)()
		at := func(s int) time.Time { return j.began.Add(time.Duration(s) * time.Second) }
		a.Set("earlier", at(50))
		a.Set("later", at(1))
		a.Set("gone", at(2))
		synctest.Wait()
		a.Set("earlier", at(3))
		a.Set("later", at(4))
		a.Remove("gone")
		a.Remove("never there")
		pass(time.Minute)
		j.want(t, "3s earlier", "4s later")
	})
}

func TestWhatHappensToAKeyThatRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		during func(a *Queue[string])
		want   []string
	}{
		"nothing: the answer counts":                   {func(*Queue[string]) {}, []string{"0s k", "15s k"}},
		"set wins over the answer":                     {func(a *Queue[string]) { a.Set("k", time.Now().Add(7*time.Second)) }, []string{"0s k", "8s k"}},
		"set to the past waits for the end of the run": {func(a *Queue[string]) { a.Set("k", time.Time{}) }, []string{"0s k", "5s k", "20s k"}},
		"removed is not scheduled again":               {func(a *Queue[string]) { a.Remove("k") }, []string{"0s k"}},
		"removed and set again does not run twice at once": {func(a *Queue[string]) {
			a.Remove("k")
			a.Set("k", time.Now())
		}, []string{"0s k", "5s k", "20s k"}},
		"set and then removed": {func(a *Queue[string]) {
			a.Set("k", time.Now())
			a.Remove("k")
		}, []string{"0s k"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &processed{began: time.Now()}
				a := New(Options[string]{Process: func(_ context.Context, key string) time.Time {
					j.add(key)
					pass(5 * time.Second)
					return time.Now().Add(10 * time.Second)
				}})
				defer run(t, a)()
				a.Set("k", time.Now())
				pass(time.Second)
				tc.during(a)
				pass(21 * time.Second)
				j.want(t, tc.want...)
			})
		})
	}
}

func TestNoMoreThanTheWorkersRunAndTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		a := New(Options[int]{Workers: 7, Process: func(context.Context, int) time.Time {
			most.Store(max(most.Load(), now.Add(1)))
			pass(time.Second)
			now.Add(-1)
			return time.Time{}
		}})
		defer run(t, a)()
		for i := range 70 {
			a.Set(i, time.Now())
		}
		pass(9500 * time.Millisecond)
		if most.Load() != 7 || a.Running() != 7 {
			t.Errorf("%d at most and %d now, want 7", most.Load(), a.Running())
		}
		pass(time.Second)
		if a.Running() != 0 || a.Len() != 0 {
			t.Errorf("%d run and %d are left, want none", a.Running(), a.Len())
		}
	})
}

// hold has Do wait for the end of Run for every key of some shares, and returns what else ran.
func hold(t *testing.T, workers int, hogs string, keys ...string) (ran string, running int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := &processed{began: time.Now()}
		a := New(Options[string]{
			Workers: workers,
			Tenant:  func(key string) string { return key[:1] },
			Process: func(ctx context.Context, key string) time.Time {
				if strings.Contains(hogs, key[:1]) {
					<-ctx.Done()
				} else {
					j.add(key)
				}
				return time.Time{}
			},
		})
		for i, key := range keys {
			a.Set(key, j.began.Add(time.Duration(i-len(keys))*time.Millisecond))
		}
		defer run(t, a)() // all are ready at once, however goroutines are scheduled
		synctest.Wait()
		for _, line := range j.lines {
			ran += strings.Fields(line)[1] + " "
		}
		running = a.Running()
	})
	return ran, running
}

func numbered(share string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint(share, i)
	}
	return keys
}

func TestAShareThatHangsLeavesWorkersToOthers(t *testing.T) {
	for _, tc := range []struct {
		workers int
		hogs    string
		want    int
	}{
		{1, "a", 1}, // Nothing can help: the only worker hangs.
		{2, "a", 1},
		{3, "a", 1},
		{8, "a", 4},
		{9, "a", 4},
		{9, "ab", 6},
		{12, "abc", 9},
	} {
		var keys []string
		for _, hog := range tc.hogs {
			keys = append(keys, numbered(string(hog), 100)...)
		}
		keys = append(keys, numbered("z", 3)...)
		ran, running := hold(t, tc.workers, tc.hogs, keys...)
		wantRan := "z0 z1 z2 "
		if tc.workers == 1 {
			wantRan = ""
		}
		if running != tc.want || len(ran) != len(wantRan) {
			t.Errorf("%d workers, %s hang: %d are held and %q ran; want %d and %q", tc.workers, tc.hogs, running, ran, tc.want, wantRan)
		}
	}
}

func TestKeysOfACappedShareWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &processed{began: time.Now()}
		a := New(Options[string]{
			Workers: 2,
			Tenant:  func(string) string { return "one" },
			Process: func(_ context.Context, key string) time.Time {
				j.add(key)
				pass(time.Second)
				return time.Time{}
			},
		})
		defer run(t, a)()
		for i, key := range []string{"d", "b", "gone", "a", "later", "c"} {
			a.Set(key, j.began.Add(time.Duration(i)*5*time.Millisecond))
		}
		pass(500 * time.Millisecond)
		a.Remove("gone")
		a.Set("c", time.Now()) // Waits already, and keeps its place.
		a.Set("later", j.began.Add(10*time.Second))
		pass(time.Minute)
		j.want(t, "0s d", "1s b", "2s a", "3s c", "10s later")
		if len(a.tenants) != 0 {
			t.Errorf("%d shares are left over", len(a.tenants))
		}
	})
}

func TestLatenessIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late []time.Duration
		a := New(Options[int]{
			Workers: 1,
			Observe: func(d time.Duration) { late = append(late, d) },
			Process: func(context.Context, int) time.Time { pass(3 * time.Second); return time.Time{} },
		})
		defer run(t, a)()
		for i := range 3 {
			a.Set(i, time.Now().Add(time.Duration(i)*time.Second))
		}
		pass(time.Minute)
		if diff := cmp.Diff([]time.Duration{0, 2 * time.Second, 4 * time.Second}, late); diff != "" {
			t.Errorf("late (-want +got):\n%s", diff)
		}
	})
}

func TestRunEndsAfterItsRunsAndCanBeCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		a := New(Options[string]{Workers: 1, Process: func(ctx context.Context, _ string) time.Time {
			<-ctx.Done()
			pass(time.Second)
			ended.Store(true)
			return time.Now()
		}})
		stop := run(t, a)
		a.Set("k", time.Now())
		a.Set("waits", time.Now())
		synctest.Wait()
		if err := a.Run(t.Context()); err == nil {
			t.Error("Run beside Run succeeded")
		}
		stop()
		if !ended.Load() {
			t.Error("Run returned before its run had ended")
		}
		if a.Len() != 2 || a.Running() != 0 {
			t.Errorf("%d keys, %d running; want 2 and 0", a.Len(), a.Running())
		}
		stop = run(t, a)
		synctest.Wait()
		if a.Running() != 1 {
			t.Error("nothing runs after Run was called again")
		}
		stop()
	})
}

// TestAgendaDoesWhatAListWouldDo compares with a plain list over random calls.
func TestAgendaDoesWhatAListWouldDo(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			start := time.Now()
			got, want := &processed{began: start}, []string{}
			a := New(Options[int]{Workers: 1, Process: func(_ context.Context, key int) time.Time {
				got.add(fmt.Sprint(key))
				return time.Time{}
			}})
			defer run(t, a)()
			due := map[int]int{}
			for second := range 60 {
				for range random.IntN(4) {
					key := random.IntN(12)
					if random.IntN(3) == 0 {
						a.Remove(key)
						delete(due, key)
						continue
					}
					// Every key has slots of its own, so that the order is certain.
					at := (second+1+random.IntN(10))*100 + 50 + key
					a.Set(key, start.Add(time.Duration(at)*10*time.Millisecond))
					due[key] = at
				}
				pass(time.Second)
				for at := second * 100; at < second*100+100; at++ {
					if when, ok := due[at%100-50]; ok && when == at {
						want = append(want, fmt.Sprintf("%s %d", time.Duration(at)*10*time.Millisecond, at%100-50))
						delete(due, at%100-50)
					}
				}
			}
			got.mu.Lock()
			defer got.mu.Unlock()
			if diff := cmp.Diff(want, got.lines); diff != "" {
				t.Errorf("seed %d: runs (-want +got):\n%s", seed, diff)
			}
		})
	}
}

// A panic ends the run of its key, and neither the process, nor the worker, nor the key.
func TestAPanicEndsTheRunOfItsKeyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &processed{began: time.Now()}
		a := New(Options[string]{Workers: 1, Process: func(_ context.Context, key string) time.Time {
			j.add(key)
			if key == "bad" {
				panic("a defect") //nolint:forbidigo // what it tests
			}
			return time.Time{}
		}})
		defer run(t, a)()
		a.Set("bad", time.Now())
		pass(time.Second)
		a.Set("good", time.Now())
		pass(afterPanic)
		j.want(t, "0s bad", "1s good", "1m0s bad")
		if a.Running() != 0 || a.Len() != 1 {
			t.Errorf("%d run, of %d keys", a.Running(), a.Len())
		}
	})
}
