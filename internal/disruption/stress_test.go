// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// actor is a policy with workloads to disrupt, one after another or some at once.
type actor struct {
	holder Holder
	group  string
	todo   []types.UID
	doing  []types.UID
}

// step starts what it may.
func (a *actor) step(l *Ledger, most int) error {
	var problem error
	l.Do(a.holder, a.group, func(v View) []Claim {
		var left []types.UID
		room := v.Free
		var busy []types.UID
		crowded := false
		for _, uid := range a.todo {
			switch {
			case v.Disrupted[uid]:
				busy = append(busy, uid)
				left = append(left, uid)
			case room < 1 || len(a.doing)+v.Group >= most:
				crowded = true
				left = append(left, uid)
			default:
				room--
				a.doing = append(a.doing, uid)
			}
		}
		a.todo = left
		for _, uid := range a.doing {
			if v.Disrupted[uid] {
				problem = fmt.Errorf("%s disrupts %s, and so does another holder", a.holder.Name, uid)
			}
		}
		if crowded || len(busy) > 0 {
			v.Wait(busy...)
		}
		return claims(a.doing...)
	})
	return problem
}

// Each actor acts only when it is woken, or when something of its own ended: a wake-up that is lost
// leaves it waiting for ever.
func TestEveryWaiterIsServedInTheEnd(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 4))
		most, perGroup := 1+random.IntN(6), 1+random.IntN(3)
		var runnable []int
		byName := map[string]int{}
		wakes := 0
		l := New(Options{MaxDisrupted: most, Wake: func(h Holder) { wakes++; runnable = append(runnable, byName[h.Name]) }})
		actors := make([]*actor, 1+random.IntN(60))
		for i := range actors {
			a := &actor{holder: policy(fmt.Sprint(i)), group: []string{"", "g", "h"}[random.IntN(3)]}
			byName[a.holder.Name] = i
			for _, n := range random.Perm(40)[:1+random.IntN(4)] {
				a.todo = append(a.todo, types.UID(fmt.Sprint(n)))
			}
			actors[i] = a
			runnable = append(runnable, i)
		}
		restarts := 0
		for step := 0; ; step++ {
			var active []int
			for i, a := range actors {
				if len(a.doing) > 0 {
					active = append(active, i)
				}
			}
			if n := l.Snapshot().Held[RebootPolicy]; n > most {
				t.Fatalf("seed %d: %d at once, %d are allowed", seed, n, most)
			}
			if len(runnable) == 0 && len(active) == 0 {
				break
			}
			next := 0
			if len(active) == 0 || (len(runnable) > 0 && random.IntN(2) == 0) {
				at := random.IntN(len(runnable))
				next = runnable[at]
				runnable = slices.Delete(runnable, at, at+1)
			} else {
				next = active[random.IntN(len(active))]
				a := actors[next]
				a.doing = slices.Delete(a.doing, 0, 1)
				restarts++
			}
			if err := actors[next].step(l, perGroup); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, a := range actors {
			if len(a.todo) > 0 {
				t.Fatalf("seed %d: %s waits for ever for %v (most %d, per group %d)", seed, a.holder.Name, a.todo, most, perGroup)
			}
		}
		if limit := restarts * (len(actors) + 1); wakes > limit {
			t.Errorf("seed %d: %d wake-ups for %d disruptions of %d actors", seed, wakes, restarts, len(actors))
		}
		if s := l.Snapshot(); s.Waiting != 0 || len(s.Held) != 0 {
			t.Errorf("seed %d: left behind: %+v", seed, s)
		}
	}
}

func TestAThousandWaitingAreServedByManyAtOnce(t *testing.T) {
	const most, waiting = 10, 1000
	queue := make(chan Holder, 4*waiting)
	var held, wakes, done atomic.Int64
	l := New(Options{MaxDisrupted: most, Wake: func(h Holder) { wakes.Add(1); queue <- h }})
	for i := range waiting {
		queue <- policy(fmt.Sprint(i))
	}
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for h := range queue {
				got := false
				l.Do(h, "", func(v View) []Claim {
					if v.Free < 1 {
						v.Wait()
						return nil
					}
					got = true
					if n := held.Add(1); n > most {
						t.Errorf("%d at once", n)
					}
					return claims(types.UID(h.Name))
				})
				if !got {
					continue
				}
				l.Do(h, "", func(View) []Claim { held.Add(-1); return nil })
				if done.Add(1) == waiting {
					close(queue)
				}
			}
		})
	}
	workers.Wait()
	if n := wakes.Load(); n > 3*waiting {
		t.Errorf("%d wake-ups for %d waiters", n, waiting)
	}
}
