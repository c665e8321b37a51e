// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "testing"

func TestASuspicionOfAnyProberIsOneOfAllUntilNoneIsLeft(t *testing.T) {
	var s Suspicions
	woken, told := 0, map[string]int{}
	s.Subscribe(func() { woken++ })
	s.Subscribe(func() {
		if woken%2 == 1 != s.Any() {
			t.Errorf("woken %d times, suspect %t", woken, s.Any())
		}
	})
	count := func(kind string) func(bool, string) { return s.OnSuspect(kind, func(bool, string) { told[kind]++ }) }
	pods, outside := count("pods"), count("outside")
	for i, step := range []struct {
		tell    func(bool, string)
		suspect bool
		any     bool
		woken   int
	}{
		{outside, false, false, 0},
		{pods, true, true, 1},
		{outside, true, true, 1},
		{outside, true, true, 1},
		{pods, false, true, 1},
		{outside, false, false, 2},
		{pods, true, true, 3},
	} {
		if step.tell(step.suspect, "cause"); s.Any() != step.any || woken != step.woken {
			t.Errorf("step %d: suspect %t, woken %d times; want %t, %d", i, s.Any(), woken, step.any, step.woken)
		}
	}
	if told["pods"] != 3 || told["outside"] != 4 {
		t.Errorf("told %v", told)
	}
	var none *Suspicions
	none.Subscribe(func() { t.Error("woken") })
	if none.Any() {
		t.Error("none suspects")
	}
}
