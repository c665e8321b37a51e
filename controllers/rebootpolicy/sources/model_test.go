// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// model is a world whose watch lags behind, and owners who look only when they are notified.
type model struct {
	*suite
	rnd   *rand.Rand
	names []string

	// pending are the events that the watch has not delivered, and shown is what it has.
	pending []func()
	shown   map[Ref]*metav1.PartialObjectMetadata
	// told are the owners who were notified and have not looked.
	told map[types.NamespacedName]bool
	seen map[types.NamespacedName][]State
	// again are the owners whom Run would remind after an interval.
	again map[types.NamespacedName]bool
	// set is when a key of a source was last given a value.
	set map[Ref]time.Time
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{
		suite: newSuite(t, Watch), rnd: rand.New(rand.NewPCG(seed, 1)), names: []string{"a", "b", "c"},
		shown: map[Ref]*metav1.PartialObjectMetadata{}, told: map[types.NamespacedName]bool{},
		seen: map[types.NamespacedName][]State{}, set: map[Ref]time.Time{},
		again: map[types.NamespacedName]bool{},
	}
	m.options.Notify = func(by types.NamespacedName) { m.told[by] = true }
	m.options.Cache = &fakeCache{absent: func(key client.ObjectKey) bool { return m.shown[secret(key.Name)] == nil }}
	m.during = func(Ref) {
		for m.rnd.IntN(3) == 0 {
			m.step()
		}
	}
	return m
}

// wants are always the same for an owner: two share views, and one has its own.
func (m *model) wants(by types.NamespacedName) []Want {
	switch by {
	case alice:
		return []Want{want("a"), want("b"), want("c")}
	case bob:
		return []Want{want("c"), want("a")}
	default:
		return []Want{want("a", "k"), want("b", "k")}
	}
}

func (m *model) owners() []types.NamespacedName {
	return []types.NamespacedName{alice, bob, {Namespace: shop, Name: "carol"}}
}

// step is something that happens outside: a write, a deletion, an event, a watch that begins again.
func (m *model) step() {
	ref := secret(m.names[m.rnd.IntN(len(m.names))])
	m.advance(time.Second)
	switch m.rnd.IntN(8) {
	case 0, 1:
		m.write(ref, "k", fmt.Sprint(m.rnd.IntN(3)), m.now())
		m.set[ref] = m.now()
		m.follow(ref)
	case 2: // nothing that counts
		if m.fakeAPI.objects[ref] != nil {
			m.put(ref, time.Time{}, func(map[string][]byte) {})
			m.follow(ref)
		}
	case 3:
		if m.fakeAPI.objects[ref] != nil {
			m.remove(ref)
			delete(m.set, ref)
			m.follow(ref)
		}
	case 4, 5, 6:
		m.deliver()
	case 7:
		m.relist()
	}
}

// follow queues the event about a source as it is now.
func (m *model) follow(ref Ref) {
	version, exists := m.version, m.fakeAPI.objects[ref] != nil
	m.pending = append(m.pending, func() {
		before, now := m.shown[ref], meta(ref, version, nil)
		switch {
		case !exists:
			delete(m.shown, ref)
			m.events.OnDelete(now)
			return
		case before == nil:
			m.events.OnAdd(now, false)
		default:
			m.events.OnUpdate(before, now)
		}
		m.shown[ref] = now
	})
}

func (m *model) deliver() {
	if len(m.pending) > 0 {
		first := m.pending[0]
		m.pending = m.pending[1:]
		first()
	}
}

// relist simulates a watch that was cut off: the changes in between arrive as one difference.
func (m *model) relist() {
	m.pending = nil
	for _, name := range m.names {
		ref := secret(name)
		before, now := m.shown[ref], m.fakeAPI.objects[ref]
		switch {
		case now == nil && before != nil:
			delete(m.shown, ref)
			m.events.OnDelete(toolscache.DeletedFinalStateUnknown{Key: shop + "/" + name, Obj: before})
		case now != nil:
			after := before.DeepCopy()
			if after == nil {
				after = meta(ref, 0, nil)
			}
			after.ResourceVersion = now.version
			m.shown[ref] = after
			if before == nil {
				m.events.OnAdd(after, false)
			} else {
				m.events.OnUpdate(before, after)
			}
		}
	}
}

// open lets an owner observe.
func (m *model) open(by types.NamespacedName) {
	m.seen[by] = m.observe(by, m.wants(by)...)
	if _, again := m.states(m.wants(by)); again {
		m.again[by] = true
	}
}

// observe lets an owner who was notified observe.
func (m *model) observeAll() {
	for _, by := range m.owners() {
		if m.told[by] {
			delete(m.told, by)
			m.open(by)
			return
		}
	}
}

// TestNoChangeIsEverMissed lets a world change while a watch lags, breaks and catches up, and sources
// are read in the midst of it. In the end, those who looked only when they were notified must have
// seen what there is, and when it was written at the earliest.
func TestNoChangeIsEverMissed(t *testing.T) {
	for seed := range uint64(2000) {
		m := newModel(t, seed)
		for _, by := range m.owners() {
			m.open(by)
		}
		for range 60 {
			if m.rnd.IntN(3) == 0 {
				m.observeAll()
			} else {
				m.step()
			}
		}
		m.during = nil
		for len(m.pending) > 0 {
			m.deliver()
		}
		for len(m.told) > 0 {
			m.observeAll()
		}
		m.poll()
		m.check(seed)
		if t.Failed() {
			return
		}
	}
}

// poll does what Run does after an interval.
func (m *model) poll() {
	m.advance(m.options.Interval)
	for by := range m.again {
		m.told[by] = true
	}
	for len(m.told) > 0 {
		m.observeAll()
	}
}

func (m *model) check(seed uint64) {
	m.t.Helper()
	// These were not observed before: they are read now.
	truth := newSuite(m.t, Watch)
	truth.fakeAPI.objects = m.fakeAPI.objects
	for _, by := range m.owners() {
		wants := m.wants(by)
		actual := truth.observe(by, wants...)
		for i, seen := range m.seen[by] {
			if seen.Missing != actual[i].Missing || seen.Fingerprint != actual[i].Fingerprint || seen.Unknown != "" {
				m.t.Errorf("seed %d: %s sees %+v of %s, and there is %+v", seed, by.Name, seen, wants[i].Name, actual[i])
			}
			if set := m.set[wants[i].Ref]; seen.Written.Before(set) {
				m.t.Errorf("seed %d: %s takes %s to be written at %s, and it was at %s", seed, by.Name, wants[i].Name, seen.Written, set)
			}
		}
	}
	before := m.total()
	for _, by := range m.owners() {
		if again := m.observe(by, m.wants(by)...); !slices.Equal(again, m.seen[by]) {
			m.t.Errorf("seed %d: %s sees %+v, and then %+v", seed, by.Name, m.seen[by], again)
		}
	}
	if after := m.total(); after != before {
		m.t.Errorf("seed %d: %d reads where nothing happened", seed, after-before)
	}
}

func (m *model) total() (total int) {
	for _, name := range m.names {
		total += m.readCount(secret(name))
	}
	return total
}
