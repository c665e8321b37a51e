// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"testing"
	"time"
)

func TestOneRequestFindsOutWhetherAnAPIServerRespondsAgain(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var b apiServerBreaker
	allows := func(what string, want bool) {
		t.Helper()
		if got := b.allow(now); got != want {
			t.Errorf("%s: allowed %v, want %v", what, got, want)
		}
	}
	allows("nothing is known", true)
	allows("at the same time", true)
	b.done(false, now)
	allows("it has just not responded", false)
	now = now.Add(openFor)
	allows("a while later", true)
	allows("while a request is under way", false)
	b.done(false, now)
	allows("it did not respond again", false)
	now = now.Add(openFor)
	allows("a while later again", true)
	b.done(true, now)
	allows("it has responded", true)
}
