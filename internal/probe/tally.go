// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Tally counts the results of the probes of an object, each by itself.
type Tally struct {
	// Sent are the probes with a result that is about the target, and Failed those of them that failed.
	Sent, Failed int64
	// Inconclusive are those that failed while this process was suspect, or for a reason of its own.
	Inconclusive int64
	// Unsettled are failures that are in none of the above: the reference is checked first.
	Unsettled int64
	// NotProbed is why the latest probe was not sent, Denied or HostUnresolved; empty where it was.
	NotProbed string
}

// tally is a Tally with what is unsettled of it.
type tally struct {
	Tally

	// awaiting are the unsettled failures by the check of the reference that settles them.
	awaiting []awaitedFailures
}

// awaitedFailures are failures that were followed by a check of the reference.
type awaitedFailures struct {
	check uint64
	n     int64
}

// Count has the probes of an object counted under each of some names, from now on where a name is new. Those of other
// names end.
func (p *Prober) Count(key types.NamespacedName, names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, ok := p.objects[key]
	if !ok {
		return
	}
	for name, t := range o.tallies {
		if !slices.Contains(names, name) {
			p.unsettled -= t.Unsettled
			delete(o.tallies, name)
		}
	}
	for _, name := range names {
		if o.tallies == nil {
			o.tallies = map[string]*tally{}
		}
		if o.tallies[name] == nil {
			o.tallies[name] = &tally{}
		}
	}
}

// Tally returns what was counted under a name; zero where nothing is.
func (p *Prober) Tally(key types.NamespacedName, name string) Tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, ok := p.objects[key]; ok && o.tallies[name] != nil {
		return o.tallies[name].Tally
	}
	return Tally{}
}

// countFor adds a result to the tallies of an object. A failure is unsettled until the reference has replied to a check that
// began later: one that is known to be the fault of this process only afterwards must not count. The lock is held.
func (p *Prober) countFor(o *object, result outcome) {
	for _, t := range o.tallies {
		t.NotProbed = ""
		switch {
		case result.isNotProbed():
			t.NotProbed = result.reason()
		case result == connected:
			t.Sent++
		case result == local, p.suspect:
			t.Inconclusive++
		case p.options.Reference == nil:
			t.Sent, t.Failed = t.Sent+1, t.Failed+1
		default:
			t.await(p.reference.checks + 1)
			p.unsettled++
		}
	}
}

func (t *tally) await(check uint64) {
	t.Unsettled++
	if n := len(t.awaiting); n > 0 && t.awaiting[n-1].check == check {
		t.awaiting[n-1].n++
		return
	}
	t.awaiting = append(t.awaiting, awaitedFailures{check, 1})
}

// settle decides about unsettled failures: those before the latest check of the reference count where it replied, and none
// counts where this process is suspect. It returns the keys of their objects. The lock is held.
func (p *Prober) settle() []types.NamespacedName {
	if p.unsettled == 0 {
		return nil
	}
	var changed []types.NamespacedName
	for key, o := range p.objects {
		for _, t := range o.tallies {
			if p.settleTally(t) {
				changed = append(changed, key)
			}
		}
	}
	return changed
}

func (p *Prober) settleTally(t *tally) bool {
	was := t.Unsettled
	t.awaiting = slices.DeleteFunc(t.awaiting, func(a awaitedFailures) bool {
		switch {
		case p.suspect:
			t.Inconclusive += a.n
		case a.check <= p.reference.checks:
			t.Sent, t.Failed = t.Sent+a.n, t.Failed+a.n
		default:
			return false
		}
		t.Unsettled -= a.n
		return true
	})
	p.unsettled -= was - t.Unsettled
	return t.Unsettled != was
}

// forgetTallies drops the tallies of an object that is removed. The lock is held.
func (p *Prober) forgetTallies(o *object) {
	for _, t := range o.tallies {
		p.unsettled -= t.Unsettled
	}
	o.tallies = nil
}
