// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// standings of targets, a letter each: h is healthy, f fails newly, o has failed for long and is
// still called healthy, x fell newly, u is unhealthy for long, d is refused by the policy.
func sharesOf(t *testing.T, letter rune) suspicionShare {
	t.Helper()
	switch letter {
	case 'h':
		return counter{condition: healthy, count: 7}.suspicionShare(false)
	case 'f':
		return counter{condition: healthy, count: -1}.suspicionShare(false)
	case 'o':
		return counter{condition: healthy, count: -9}.suspicionShare(false)
	case 'x':
		return counter{condition: unhealthy, count: -2, fell: true}.suspicionShare(false)
	case 'u':
		return counter{condition: unhealthy, count: -9, fell: true}.suspicionShare(false)
	case 'd':
		return counter{condition: healthy, count: -1}.suspicionShare(true)
	}
	t.Fatalf("no share %q", letter)
	return suspicionShare{}
}

// empty fails the test where something is left of targets that have all gone.
func empty(t *testing.T, s *suspicion) {
	t.Helper()
	if s.totals != (totals{}) || s.on || len(s.namespaces)+len(s.destinations)+len(s.failingIn) > 0 {
		t.Errorf("sums of nothing: %+v", s)
	}
}

// TestWhenThisProcessIsSuspect has namespaces, divided by |, of objects, divided by spaces, of
// targets. A target has a destination of its own, or the one that the digit after it names.
func TestWhenThisProcessIsSuspect(t *testing.T) {
	for name, tc := range map[string]struct {
		objects string
		on      bool // was suspect before
		want    bool
	}{
		"nothing there":                            {"", false, false},
		"nothing there any more":                   {"", true, false},
		"all is well":                              {"hh hh hh", false, false},
		"all of three fail":                        {"f f f", false, true},
		"all of three, with several addresses":     {"fff ff f", false, true},
		"two of three fail over":                   {"f f h", false, false},
		"two of two fail over":                     {"f f", false, false},
		"one big one fails":                        {"ffffffffffffffffffff h h", false, false},
		"one big one fails, and two small ones":    {"ffffffffffffffffffff f f h h", false, true},
		"more than half":                           {"f f f h h", false, true},
		"exactly half":                             {"f f f h h h", false, false},
		"many fail that have another address left": {"ffffh ffffh ffffh ffffh", false, false},
		"two have nothing left, and others have":   {"ff ff ffh ffh ffh", false, false},
		"three have nothing left, and others have": {"ff ff ff ffh ffh ffh", false, true},
		"failures that are old":                    {"o o o", false, false},
		"failures that are old keep it up":         {"o o o", true, true},
		"half of them succeed again":               {"o o o h h h", true, false},
		"few are left without any":                 {"oooo oooo h", true, false},
		"each has one that succeeds again":         {"oooh oooh oooh", true, false},
		"three fell at their first failure":        {"x x x", false, true},
		"what has fallen long ago does not count":  {"u u u u h h h", false, false},
		"one more fails beside what fell long ago": {"u u f", false, false},
		"refusals are not failures":                {"d d d d", false, false},
		"refusals do not end it":                   {"o o o d d d d", true, true},

		"many objects, one destination":                {"f1 f1 f1 f1 f1", false, false},
		"many objects, two destinations":               {"f1 f2 f1 f2 f1", false, false},
		"many objects, one destination, and others":    {"f1 f1 f1 f1 f1 h h", false, false},
		"many namespaces, one destination":             {"f1|f1|f1|f1|f1", false, false},
		"one destination, with a check that succeeds":  {"f1 f2 f3|h1", false, false},
		"one namespace of two":                         {"ffffff ffffff ffffff ffffff|h", false, false},
		"one namespace of two, and the other's object": {"ffffff ffffff ffffff ffffff|fh", false, false},
		"one namespace of two, and one object of two":  {"ffffff ffffff ffffff ffffff|f h", false, false},
		"both of two":             {"f f|f", false, true},
		"one of many":             {"ffffff ffffff ffffff ffffff|h|h|h|h", false, false},
		"two of three":            {"ffffff ffffff|ffffff ffffff|h", false, false},
		"all of three namespaces": {"f|f|f", false, true},
		"three of five, and most of what there is": {"f|f|f|h|h", false, true},
		"three of six": {"ff|ff|ff|h|h|h", false, false},
		"three of five, and half of what there is":         {"f|f|f|hh|h", false, false},
		"three of five keep it up":                         {"o|o|o|h|h", true, true},
		"two of five do not":                               {"oooo oooo|oooo oooo|h|h|h", true, false},
		"namespaces that have been unhealthy do not count": {"f f f|u|u", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuspicion()
			s.on = tc.on
			unique := 1000
			for n, objects := range strings.Split(tc.objects, "|") {
				for object := range strings.FieldsSeq(objects) {
					all := &targetCounts{}
					for i, letter := range object {
						if letter >= '0' && letter <= '9' {
							continue
						}
						unique++
						at := destinationKey{host: fmt.Sprint(unique)}
						if i+1 < len(object) && object[i+1] <= '9' {
							at.host = object[i+1 : i+2]
						}
						here := s.acquireNamespace(fmt.Sprint(n))
						s.update(all, s.acquireDestination(here, at), suspicionShare{}, sharesOf(t, letter))
					}
				}
			}
			if got := s.evaluate(); got != tc.want {
				t.Errorf("%q: suspect %t, want %t (%+v)", tc.objects, got, tc.want, s.totals)
			}
		})
	}
}

// model counts the targets that there are, from the definitions.
type modelTarget struct {
	namespace, object, at int
	now                   suspicionShare
}

func modelOf(targets []modelTarget) (c totals, broken int) {
	type pair struct{ a, b int }
	objects, destinations := map[pair]*targetCounts{}, map[pair]*targetCounts{}
	count := func(all map[pair]*targetCounts, of pair, s suspicionShare) {
		if all[of] == nil {
			all[of] = &targetCounts{}
		}
		all[of].update(suspicionShare{}, s)
	}
	for _, t := range targets {
		count(objects, pair{t.namespace, t.object}, t.now)
		count(destinations, pair{t.namespace, t.at}, t.now)
	}
	namespaces, places := map[int]*namespace{}, map[int]bool{}
	of := func(n int) *namespace {
		if namespaces[n] == nil {
			namespaces[n] = &namespace{}
		}
		return namespaces[n]
	}
	for at, d := range destinations {
		if d.members == 0 {
			continue
		}
		of(at.a).members++
		if d.failing == d.members {
			of(at.a).failing++
			places[at.b] = true
			if d.recent > 0 {
				of(at.a).recent++
			}
		}
	}
	for at, o := range objects {
		if o.members > 0 && o.failing == o.members {
			of(at.a).failedObjects++
			if o.recent > 0 {
				of(at.a).newlyFailed++
			}
		}
	}
	for _, n := range namespaces {
		c.members, c.failing, c.recent = c.members+n.members, c.failing+n.failing, c.recent+n.recent
		c.failedObjects, c.newlyFailed = c.failedObjects+n.failedObjects, c.newlyFailed+n.newlyFailed
		if n.members > 0 {
			c.namespaces++
		}
		if n.failedObjects > 0 && float64(n.failing) > float64(n.members)/2 {
			c.failingNamespaces++
		}
		if n.newlyFailed > 0 && float64(n.recent) > float64(n.members)/2 {
			c.newlyFailingNamespaces++
		}
	}
	return c, len(places)
}

// TestTheSumsAgreeWithCountingFromScratch moves targets about at random, and compares with a count of all.
// It also sees that no namespace alone makes a suspicion where there is another.
func TestTheSumsAgreeWithCountingFromScratch(t *testing.T) {
	letters := []rune("hfoxud")
	began := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		spaces, objects, places := 1+random.IntN(5), 1+random.IntN(5), 1+random.IntN(12)
		targets := make([]modelTarget, 1+random.IntN(40))
		tallies := map[[2]int]*targetCounts{}
		s := newSuspicion()
		uses := make([]*destination, len(targets))
		for i := range targets {
			targets[i] = modelTarget{namespace: random.IntN(spaces), object: random.IntN(objects), at: random.IntN(places)}
			uses[i] = s.acquireDestination(s.acquireNamespace(fmt.Sprint(targets[i].namespace)), destinationKey{host: fmt.Sprint(targets[i].at)})
			tallies[[2]int{targets[i].namespace, targets[i].object}] = &targetCounts{}
		}
		mood := 'h'
		for step := range 200 {
			if step%40 == 0 {
				mood = letters[random.IntN(len(letters))]
			}
			i := random.IntN(len(targets))
			m := &targets[i]
			next := sharesOf(t, mood)
			switch random.IntN(20) {
			case 0:
				next = suspicionShare{}
			case 1, 2:
				next = sharesOf(t, letters[random.IntN(len(letters))])
			}
			s.update(tallies[[2]int{m.namespace, m.object}], uses[i], m.now, next)
			m.now = next
			was := s.on
			is := s.evaluate()

			want, broken := modelOf(targets)
			on := broken >= 3 && want.newlyFailed >= 3 && 2*want.recent > want.members
			if was {
				on = broken >= 3 && want.failedObjects >= 3 && 2*want.failing > want.members
			}
			voters := want.newlyFailingNamespaces
			if was {
				voters = want.failingNamespaces
			}
			on = on && voters >= min(3, want.namespaces) && 2*voters > want.namespaces
			if s.totals != want || len(s.failingIn) != broken || is != on {
				t.Fatalf("seed %d: %+v, %d broken, suspect %t; want %+v, %d, %t", seed, s.totals, len(s.failingIn), is, want, broken, on)
			}
			if is && !was {
				began++
			}
			if is && want.namespaces > 1 && want.failingNamespaces < 2 && want.newlyFailingNamespaces < 2 {
				t.Fatalf("seed %d: one namespace of %d makes this process suspect: %+v", seed, want.namespaces, want)
			}
		}
		for i := range targets {
			m := &targets[i]
			s.update(tallies[[2]int{m.namespace, m.object}], uses[i], m.now, suspicionShare{})
			n := uses[i].namespace
			s.releaseDestination(uses[i])
			s.releaseNamespace(n)
		}
		s.on = false
		empty(t, &s)
	}
	if began < 100 {
		t.Errorf("a suspicion began %d times, too few to say anything", began)
	}
}
