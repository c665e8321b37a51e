// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probing

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// standings of targets, a letter each: h is healthy, f fails newly, o has failed for long and is
// still called healthy, x fell newly, u is unhealthy for long, d is refused by the policy.
func standingsOf(t *testing.T, letter rune) standing {
	t.Helper()
	switch letter {
	case 'h':
		return counter{condition: healthy, count: 7}.standing(false)
	case 'f':
		return counter{condition: healthy, count: -1}.standing(false)
	case 'o':
		return counter{condition: healthy, count: -9}.standing(false)
	case 'x':
		return counter{condition: unhealthy, count: -2, fell: true}.standing(false)
	case 'u':
		return counter{condition: unhealthy, count: -9, fell: true}.standing(false)
	case 'd':
		return counter{condition: healthy, count: -1}.standing(true)
	}
	t.Fatalf("no standing %q", letter)
	return standing{}
}

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
		"half of them answer again":                {"o o o h h h", true, false},
		"few are left without any":                 {"oooo oooo h", true, false},
		"each has one that answers again":          {"oooh oooh oooh", true, false},
		"three fell at their first failure":        {"x x x", false, true},
		"what has fallen long ago does not count":  {"u u u u h h h", false, false},
		"one more fails beside what fell long ago": {"u u f", false, false},
		"refusals are not failures":                {"d d d d", false, false},
		"refusals do not end it":                   {"o o o d d d d", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := suspicion{on: tc.on}
			for object := range strings.FieldsSeq(tc.objects) {
				var all tally
				for _, letter := range object {
					s.move(&all, standing{}, standingsOf(t, letter))
				}
			}
			if got := s.judge(); got != tc.want {
				t.Errorf("%q: suspect %t, want %t (%+v)", tc.objects, got, tc.want, s)
			}
		})
	}
}

// TestTheSumsAgreeWithCountingAnew moves targets about at random, and compares with a count of all.
func TestTheSumsAgreeWithCountingAnew(t *testing.T) {
	letters := []rune("hfoxud")
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		type member struct {
			object int
			now    standing
		}
		tallies := make([]tally, 1+random.IntN(8))
		members := make([]member, 1+random.IntN(30))
		for i := range members {
			members[i].object = random.IntN(len(tallies))
		}
		var s suspicion
		for range 200 {
			m := &members[random.IntN(len(members))]
			next := standing{}
			if random.IntN(5) > 0 {
				next = standingsOf(t, letters[random.IntN(len(letters))])
			}
			s.move(&tallies[m.object], m.now, next)
			m.now = next
			was, is := s.on, s.judge()

			var all, failing, fresh, lost, newly int
			for object := range tallies {
				var here, failingHere, freshHere int
				for _, m := range members {
					if m.object != object || !m.now.member {
						continue
					}
					here++
					if m.now.failing {
						failingHere++
					}
					if m.now.young {
						freshHere++
					}
				}
				all, failing, fresh = all+here, failing+failingHere, fresh+freshHere
				if here > 0 && failingHere == here {
					lost++
					if freshHere > 0 {
						newly++
					}
				}
			}
			want := suspicion{members: all, failing: failing, young: fresh, lost: lost, newly: newly}
			want.on = float64(fresh) > float64(all)/2 && newly >= 3
			if was {
				want.on = float64(failing) > float64(all)/2 && lost >= 3
			}
			if s != want || is != want.on {
				t.Fatalf("seed %d: %+v, want %+v", seed, s, want)
			}
		}
	}
}
