// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"testing"
	"time"
)

func TestOneFindsOutWhetherASilentAPIServerAnswersAgain(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s silence
	asks := func(what string, want bool) {
		t.Helper()
		if got := s.ask(now); got != want {
			t.Errorf("%s: asked %v, want %v", what, got, want)
		}
	}
	asks("nothing is known", true)
	asks("at the same time", true)
	s.heard(false, now)
	asks("it has just not answered", false)
	now = now.Add(silenceFor)
	asks("a while later", true)
	asks("while a request is under way", false)
	s.heard(false, now)
	asks("it did not answer again", false)
	now = now.Add(silenceFor)
	asks("a while later again", true)
	s.heard(true, now)
	asks("it has answered", true)
}
