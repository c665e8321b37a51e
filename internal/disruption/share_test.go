// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// fakeClock calls what is due as its time passes.
type fakeClock struct {
	now    time.Time
	timers []*timer
}

type timer struct {
	at   time.Time
	call func()
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) AfterFunc(after time.Duration, call func()) func() bool {
	made := &timer{c.now.Add(after), call}
	c.timers = append(c.timers, made)
	return func() bool { made.call = nil; return true }
}

func (c *fakeClock) Step(d time.Duration) {
	for end := c.now.Add(d); ; {
		c.timers = slices.DeleteFunc(c.timers, func(t *timer) bool { return t.call == nil })
		slices.SortStableFunc(c.timers, func(a, b *timer) int { return a.at.Compare(b.at) })
		if len(c.timers) == 0 || c.timers[0].at.After(end) {
			c.now = end
			return
		}
		due := c.timers[0]
		c.timers, c.now = c.timers[1:], due.at
		due.call()
	}
}

func holderIn(namespace, name string) Holder {
	return Holder{RebootPolicy, types.NamespacedName{Namespace: namespace, Name: name}}
}

func numbered(prefix string, n int) []Claim {
	var all []Claim
	for i := range n {
		all = append(all, Claim{UID: types.UID(fmt.Sprint(prefix, i))})
	}
	return all
}

// look returns what a holder sees, which keeps its claims and waits.
func look(l *Ledger, h Holder, keeps ...Claim) (seen View) {
	l.Do(h, "", func(v View) []Claim { seen = v; v.Wait("of another reason"); return keeps })
	return seen
}

// One namespace with restarts that do not end holds others for SlotTimeout, and keeps a quarter of the slots.
func TestANamespaceKeepsItsShareOfTheSlotsForWhatDoesNotEnd(t *testing.T) {
	clock, woken := &fakeClock{now: time.Now()}, []string{}
	l := New(Options{Now: clock.Now, AfterFunc: clock.AfterFunc, Wake: func(h Holder) { woken = append(woken, h.Namespace+"/"+h.Name) }})
	stuck := numbered("stuck-", 10)
	l.Do(holderIn("tenant", "p"), "", func(View) []Claim { return stuck })
	full := look(l, holderIn("shop", "p"))
	if full.Free != 0 || !strings.HasSuffix(full.Full, "rebootPolicies.maxRestarts allows (10), most of them in namespace tenant") {
		t.Fatalf("%d free, full %q", full.Free, full.Full)
	}
	clock.Step(2*time.Minute - time.Second)
	if len(woken) > 0 {
		t.Fatalf("woken early: %q", woken)
	}
	clock.Step(time.Second)
	if diff := cmp.Diff([]string{"shop/p"}, woken); diff != "" {
		t.Fatalf("woken (-want +got):\n%s", diff)
	}
	if v := look(l, holderIn("shop", "p")); v.Free != 8 || v.Full != "" {
		t.Errorf("%d free, full %q", v.Free, v.Full)
	}
	own := look(l, holderIn("tenant", "p"), stuck...)
	if own.Free != 0 || !strings.Contains(own.Full, "of the namespace") || len(own.Lapsed) != 8 {
		t.Errorf("the namespace itself: %d free, full %q, %d lapsed", own.Free, own.Full, len(own.Lapsed))
	}
	want := Snapshot{MaxDisrupted: 10, Held: map[string]int{RebootPolicy: 10}, Waiting: 2, Slots: map[string]int{"tenant": 2}, Lapsed: map[string]int{"tenant": 8}}
	if diff := cmp.Diff(want, l.Snapshot()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if busy := look(l, holderIn("shop", "p")).Disrupted; len(busy) != 10 {
		t.Errorf("%d workloads are claimed", len(busy))
	}
	// Within its share a disruption that cannot end at all gives its slot back as well, if late.
	clock.Step(time.Hour)
	if v := look(l, holderIn("shop", "p")); v.Free != 10 {
		t.Errorf("%d free after an hour", v.Free)
	}
}

func TestAWorkloadThatSoaksTakesNoSlotAndIsClaimed(t *testing.T) {
	l, r := newLedger(1)
	l.Do(policy("a"), "", func(View) []Claim { return claims("1") })
	take(l, "b", "", "2")
	l.Do(policy("a"), "", func(View) []Claim { return []Claim{{UID: "1", Soaking: true}} })
	if diff := cmp.Diff([]string{"b"}, r.take()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	if take(l, "c", "", "1") {
		t.Error("a workload that soaks was claimed by another")
	}
	if !take(l, "b", "", "2") {
		t.Error("the slot was not free")
	}
}

// A thousand policies of one namespace wait no longer than the one of another.
func TestTheNamespaceWithTheFewestSlotsIsWokenFirst(t *testing.T) {
	var woken []string
	l := New(Options{MaxDisrupted: 2, Wake: func(h Holder) { woken = append(woken, h.Namespace) }})
	l.Do(holderIn("tenant", "0"), "", func(View) []Claim { return numbered("t", 2) })
	for i := range 1000 {
		look(l, holderIn("tenant", fmt.Sprint("w", i)))
	}
	look(l, holderIn("shop", "p"))
	l.Do(holderIn("tenant", "0"), "", func(View) []Claim { return numbered("t", 1) })
	if diff := cmp.Diff([]string{"shop"}, woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// tenant is a holder with workloads to disrupt. Some of its disruptions never end.
type tenant struct {
	holder Holder
	group  string
	todo   []types.UID
	doing  []Claim
	stuck  map[types.UID]bool
}

func (a *tenant) step(l *Ledger, t *rapid.T, most int) {
	before := len(a.doing)
	l.Do(a.holder, a.group, func(v View) []Claim {
		room := v.Free
		var left, busy []types.UID
		for _, uid := range a.todo {
			switch {
			case v.Disrupted[uid]:
				busy, left = append(busy, uid), append(left, uid)
			case room < 1 || a.group != "" && len(a.doing)+v.Group >= most:
				left = append(left, uid)
			default:
				room--
				a.doing = append(a.doing, Claim{UID: uid})
			}
		}
		for _, c := range a.doing {
			if v.Disrupted[c.UID] {
				t.Fatalf("%v disrupts %s, and so does another holder", a.holder, c.UID)
			}
		}
		if v.Beyond(a.doing[:before]) < v.Free { // it may have given some back
			t.Fatalf("%d beyond what %v keeps, and %d free", v.Beyond(a.doing[:before]), a.holder, v.Free)
		}
		if (v.Full == "") != (v.Free > 0) {
			t.Fatalf("%d free, full %q", v.Free, v.Full)
		}
		if a.todo = left; len(left) > 0 {
			v.Wait(busy...)
		}
		return a.doing
	})
}

// world is some namespaces with holders, which act only when they are woken or when something of theirs ended.
type world struct {
	*rapid.T
	ledger   *Ledger
	clock    *fakeClock
	tenants  map[Holder]*tenant
	order    []Holder
	runnable []Holder
	most     int
	// restored is how many slots the ledger had at first: a new process counts those again that had lapsed.
	restored int
}

func drawWorld(t *rapid.T) *world {
	w := &world{T: t, clock: &fakeClock{now: time.Now()}, tenants: map[Holder]*tenant{}, most: rapid.IntRange(1, 9).Draw(t, "slots")}
	w.newProcess()
	for i := range rapid.IntRange(1, 6).Draw(t, "holders") {
		h := holderIn(fmt.Sprint("ns", rapid.IntRange(0, 2).Draw(t, "namespace")), fmt.Sprint("p", i))
		if rapid.Bool().Draw(t, "chaos") {
			h.Kind = ChaosPod
		}
		a := &tenant{holder: h, group: rapid.SampledFrom([]string{"", "", "g"}).Draw(t, "group"), stuck: map[types.UID]bool{}}
		for range rapid.IntRange(1, 8).Draw(t, "workloads") {
			uid := types.UID(fmt.Sprint(h.Namespace, "/", rapid.IntRange(0, 12).Draw(t, "workload")))
			if !strings.Contains(fmt.Sprint(a.todo, " "), string(uid)+" ") {
				a.todo = append(a.todo, uid)
			}
			a.stuck[uid] = h.Namespace == "ns0" && rapid.Bool().Draw(t, "stuck")
		}
		w.tenants[h], w.order, w.runnable = a, append(w.order, h), append(w.runnable, h)
	}
	return w
}

// newProcess has the claims of the statuses alone, and reconciles all.
func (w *world) newProcess() {
	w.ledger = New(Options{MaxDisrupted: w.most, Now: w.clock.Now, AfterFunc: w.clock.AfterFunc, Wake: func(h Holder) { w.runnable = append(w.runnable, h) }})
	for _, h := range w.order {
		w.ledger.Restore(h, w.tenants[h].group, w.tenants[h].doing)
	}
	w.runnable, w.restored = append([]Holder(nil), w.order...), w.ledger.held
}

func (w *world) run(i int) {
	h := w.runnable[i]
	w.runnable = append(w.runnable[:i], w.runnable[i+1:]...)
	w.tenants[h].step(w.ledger, w.T, 2)
	w.check()
}

// end ends or soaks one disruption that is not stuck, and reports whether there was one.
func (w *world) end(h Holder, soak bool) bool {
	a := w.tenants[h]
	for i, c := range a.doing {
		if a.stuck[c.UID] || soak && c.Soaking {
			continue
		}
		if a.doing[i].Soaking = true; !soak {
			a.doing = append(append([]Claim(nil), a.doing[:i]...), a.doing[i+1:]...)
		}
		a.step(w.ledger, w.T, 2)
		w.check()
		return true
	}
	return false
}

// check holds the ledger to its limits: the sums are those of the claims.
func (w *world) check() {
	l := w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	held, disrupted := 0, map[string]int{}
	for h, a := range l.accounts {
		d, s := a.count()
		held += s
		disrupted[h.Namespace] += d
	}
	if held != l.held || held > max(l.options.MaxDisrupted, w.restored) {
		w.Fatalf("%d slots are taken, %d are counted, of %d", held, l.held, l.options.MaxDisrupted)
	}
	for namespace, n := range disrupted {
		if t := l.namespaces[namespace]; n > l.options.MaxDisrupted || t == nil || t.disrupted != n {
			w.Fatalf("%d workloads of %s are disrupted, of %d: %+v", n, namespace, l.options.MaxDisrupted, t)
		}
	}
}

// Whatever one namespace has stuck, whichever order things happen in, and however often the process begins again: all
// that can end in other namespaces does, within an hour and without anything but wake-ups; and no limit is exceeded.
func TestGeneratedTenantsAllGoOnBesideOneThatIsStuck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch what := rapid.SampledFrom([]string{"run", "run", "run", "end", "soak", "pass", "forget", "restart"}).Draw(t, "step"); what {
			case "run":
				if len(w.runnable) > 0 {
					w.run(rapid.IntRange(0, len(w.runnable)-1).Draw(t, "who"))
				}
			case "end", "soak":
				w.end(rapid.SampledFrom(w.order).Draw(t, "who"), what == "soak")
			case "pass":
				w.clock.Step(time.Duration(rapid.IntRange(1, 200).Draw(t, "seconds")) * time.Second)
			case "forget":
				h := rapid.SampledFrom(w.order).Draw(t, "who")
				for _, c := range w.tenants[h].doing {
					w.tenants[h].todo = append(w.tenants[h].todo, c.UID)
				}
				w.tenants[h].doing = nil
				w.ledger.Forget(h)
				w.runnable = append(w.runnable, h)
			case "restart":
				w.newProcess()
			}
		}
		for range 3 * 60 {
			for progress := true; progress; {
				progress = len(w.runnable) > 0
				for len(w.runnable) > 0 {
					w.run(0)
				}
				for _, h := range w.order {
					progress = w.end(h, false) || progress
				}
			}
			w.clock.Step(time.Minute)
		}
		for _, h := range w.order {
			if a := w.tenants[h]; h.Namespace != "ns0" && len(a.todo) > 0 {
				t.Fatalf("%v waits for ever for %v: %+v", h, a.todo, w.ledger.Snapshot())
			}
		}
	})
}
