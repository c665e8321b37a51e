// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

func policy(name string) Holder {
	return Holder{RebootPolicy, types.NamespacedName{Namespace: "shop", Name: name}}
}

// recorder remembers who was woken.
type recorder struct{ woken []string }

func (r *recorder) wake(h Holder) { r.woken = append(r.woken, h.Name) }

func (r *recorder) take() []string {
	woken := r.woken
	r.woken = nil
	return woken
}

func claims(uids ...types.UID) []Claim {
	var list []Claim
	for _, uid := range uids {
		list = append(list, Claim{UID: uid})
	}
	return list
}

func newLedger(most int) (*Ledger, *recorder) {
	r := &recorder{}
	return New(Options{MaxDisrupted: most, Wake: r.wake}), r
}

// take claims uid if the ledger lets it, and waits otherwise.
func take(l *Ledger, name, group string, uid types.UID) (got bool) {
	l.Do(policy(name), group, func(v View) []Claim {
		switch {
		case v.Disrupted[uid]:
			v.Wait(uid)
		case v.Free < 1 || (group != "" && v.Group > 0):
			v.Wait()
		default:
			got = true
			return claims(uid)
		}
		return nil
	})
	return got
}

func letGo(l *Ledger, name, group string) {
	l.Do(policy(name), group, func(View) []Claim { return nil })
}

func TestViewCountsWhatOthersHold(t *testing.T) {
	l, _ := newLedger(5)
	l.Restore(policy("a"), "g", claims("1", "2"))
	l.Restore(policy("b"), "g", claims("3"))
	l.Restore(policy("c"), "", claims("3"))
	elsewhere := policy("d")
	elsewhere.Namespace = "other"
	l.Restore(elsewhere, "g", claims("4"))
	const full = "as many workloads of the cluster are disrupted as rebootPolicies.maxRestarts allows (5), most of them in namespace other, shop"
	none := map[types.UID]bool{}
	for name, want := range map[string]View{
		"a": {Group: 1, Free: 0, Full: full, Lapsed: none, Share: 5, Disrupted: map[types.UID]bool{"3": true, "4": true}},
		"b": {Group: 2, Free: 0, Full: full, Lapsed: none, Share: 5, Disrupted: map[types.UID]bool{"1": true, "2": true, "3": true, "4": true}},
		"c": {Group: 3, Free: 0, Full: full, Lapsed: none, Share: 5, Disrupted: map[types.UID]bool{"1": true, "2": true, "3": true, "4": true}},
	} {
		l.Do(policy(name), "g", func(v View) []Claim {
			if diff := cmp.Diff(want, v, cmpopts.IgnoreUnexported(View{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			switch name {
			case "a":
				return claims("1", "2")
			default:
				return claims("3")
			}
		})
		if name == "c" {
			l.Restore(policy("c"), "", claims("3"))
		}
	}
}

func TestAHolderThatDecidesAgainMayUseWhatItClaimed(t *testing.T) {
	l, _ := newLedger(3)
	l.Restore(policy("other"), "", claims("9"))
	for name, c := range map[string]struct {
		has, standing []Claim
		want          int
	}{
		"nothing":                   {nil, nil, 2},
		"what stands":               {claims("1"), claims("1"), 1},
		"claimed in advance":        {claims("1", "2"), claims("1"), 1},
		"claimed twice":             {claims("1"), claims("1", "1"), 1},
		"all of it in advance":      {claims("1", "2"), nil, 2},
		"stands, and not yet taken": {nil, claims("1"), 1},
	} {
		l.Restore(policy("a"), "", c.has)
		l.Do(policy("a"), "", func(v View) []Claim {
			if got := v.Beyond(c.standing); got != c.want {
				t.Errorf("%s: %d beyond what stands, want %d", name, got, c.want)
			}
			return nil
		})
	}
}

// The one with the least claims of those that wait for a slot of the cluster decides how many another may take again.
func TestTheShareOfAHolderIsThatOfTheLeastThatWaits(t *testing.T) {
	l, _ := newLedger(5)
	l.Restore(policy("a"), "", claims("1", "2"))
	l.Restore(policy("b"), "", claims("3"))
	l.Restore(policy("c"), "", claims("4", "5"))
	share := func(name string) (share int) {
		l.Do(policy(name), "", func(v View) []Claim {
			share = v.Share
			v.Wait("of another reason")
			return map[string][]Claim{"a": claims("1", "2"), "b": claims("3"), "c": claims("4", "5")}[name]
		})
		return share
	}
	for _, c := range []struct {
		name string
		want int
	}{{"a", 5}, {"b", 2}, {"c", 1}, {"a", 1}, {"b", 2}} {
		if got := share(c.name); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	l.Restore(policy("c"), "", claims("4")) // there is a free slot, and b does not wait for one
	share("b")
	if got := share("a"); got != 1 {
		t.Errorf("%d", got)
	}
}

// A holder whose claims have all ended at once need not give up all slots because another waits without any.
func TestTheShareOfAHolderIsAtLeastAnEqualPart(t *testing.T) {
	l, _ := newLedger(10)
	l.Restore(policy("a"), "", claims("1", "2", "3", "4", "5", "6", "7", "8"))
	l.Restore(policy("b"), "", claims("9", "10"))
	wait := func(name string) {
		l.Do(policy(name), "", func(v View) []Claim { v.Wait("of another reason"); return nil })
	}
	share := func() (share int) {
		l.Do(policy("a"), "", func(v View) []Claim {
			share = v.Share
			v.Wait("of another reason")
			return claims("1", "2", "3", "4", "5", "6", "7", "8")
		})
		return share
	}
	if got := share(); got != 10 {
		t.Errorf("%d although none waits", got)
	}
	wait("c")
	if got := share(); got != 3 {
		t.Errorf("%d of 10 for each of three", got)
	}
	for i := range 10 {
		wait(fmt.Sprint("d", i))
	}
	if got := share(); got != 0 {
		t.Errorf("%d, with more that wait than there are slots", got)
	}
}

func TestDefaultsLetTenAtOnceAndWakeNoHolder(t *testing.T) {
	l := New(Options{})
	for i := range 12 {
		if got := take(l, fmt.Sprint(i), "", types.UID(fmt.Sprint(i))); got != (i < 10) {
			t.Errorf("claim %d: %t", i, got)
		}
	}
	letGo(l, "0", "")
	want := Snapshot{MaxDisrupted: 10, Held: map[string]int{RebootPolicy: 9}, Waiting: 2, Slots: map[string]int{"shop": 9}, Lapsed: map[string]int{"shop": 0}}
	if diff := cmp.Diff(want, l.Snapshot()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlotsGoToThoseWhoWaitInTheirOrder(t *testing.T) {
	l, r := newLedger(1)
	take(l, "a", "", "1")
	for _, name := range []string{"b", "c", "d"} {
		take(l, name, "", types.UID(name))
	}
	letGo(l, "a", "")
	if diff := cmp.Diff([]string{"b"}, r.take()); diff != "" {
		t.Fatalf("woken (-want +got):\n%s", diff)
	}
	if take(l, "late", "", "9") {
		t.Error("one that came late took the slot that is kept for the one that was woken")
	}
	if !take(l, "b", "", "b") {
		t.Error("the one that was woken got nothing")
	}
	letGo(l, "b", "")
	if diff := cmp.Diff([]string{"c"}, r.take()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

func TestOneThatWasWokenAndTakesNothingPassesItOn(t *testing.T) {
	for name, answer := range map[string]func(l *Ledger){
		"does not want it any more": func(l *Ledger) { letGo(l, "b", "") },
		"is gone":                   func(l *Ledger) { l.Forget(policy("b")) },
		"waits for something else": func(l *Ledger) {
			l.Do(policy("b"), "", func(v View) []Claim { v.Wait("other"); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, r := newLedger(1)
			take(l, "a", "", "1")
			take(l, "b", "", "2")
			take(l, "c", "", "3")
			l.Forget(policy("a"))
			answer(l)
			if diff := cmp.Diff([]string{"b", "c"}, r.take()); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWakesThoseAloneWhoCouldStart(t *testing.T) {
	l, r := newLedger(10)
	take(l, "a", "g", "1")
	take(l, "chaos", "", "7")
	for i := range 1000 {
		take(l, fmt.Sprintf("g%03d", i), "g", types.UID(fmt.Sprint("g", i)))
	}
	take(l, "same", "", "1")
	letGo(l, "chaos", "")
	if woken := r.take(); len(woken) > 9 {
		t.Errorf("%d were woken at once for 9 slots", len(woken))
	}
	l, r = newLedger(10)
	take(l, "a", "", "1")
	take(l, "b", "", "2")
	for i := range 1000 {
		take(l, fmt.Sprintf("w%03d", i), "", "1")
	}
	letGo(l, "b", "")
	if woken := r.take(); len(woken) > 0 {
		t.Errorf("%d were woken for a workload that none of them waits for", len(woken))
	}
	letGo(l, "a", "")
	if woken := r.take(); len(woken) == 0 || len(woken) > 10 {
		t.Errorf("%d were woken for the one workload they wait for", len(woken))
	}
}

func TestOneThatWaitsIsWokenByWhatItGivesBackItself(t *testing.T) {
	l, r := newLedger(1)
	take(l, "a", "", "1")
	l.Do(policy("a"), "", func(v View) []Claim { v.Wait("another"); return nil })
	if diff := cmp.Diff([]string{"a"}, r.take()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// A holder that uses fewer slots than it was promised must not keep the rest.
func TestLedgerIsEmptyOnceAllAreForgotten(t *testing.T) {
	l, _ := newLedger(2)
	for i := range 50 {
		take(l, fmt.Sprint(i), "g", types.UID(fmt.Sprint(i%3)))
	}
	for i := range 50 {
		l.Forget(policy(fmt.Sprint(i)))
	}
	if diff := cmp.Diff(Snapshot{MaxDisrupted: 2, Held: map[string]int{}, Slots: map[string]int{}, Lapsed: map[string]int{}}, l.Snapshot()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(l.accounts) + len(l.claimants) + len(l.groups) + len(l.namespaces) + len(l.queue.byHolder) + l.held + l.queue.woken; n != 0 {
		t.Errorf("%d things are left behind", n)
	}
}
