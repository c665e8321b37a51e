// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAStateIsThatOfOneObject(t *testing.T) {
	var states States[int]
	object := version("1")
	*states.Get(object) = 7
	if got := *states.Get(version("2")); got != 7 {
		t.Errorf("a later version has %d", got)
	}
	other := version("3")
	other.UID = "2"
	if got := *states.Get(other); got != 0 {
		t.Errorf("another object of that name has %d", got)
	}
	if states.Forget(client.ObjectKeyFromObject(object)); states.Len() != 0 {
		t.Errorf("%d states are left", states.Len())
	}
}

func TestTheBackoffAfterARefusalDoublesUpToABound(t *testing.T) {
	var refused Refusal
	now := time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC)
	for i, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		if refused.Record(now, "no"); refused.Until.Sub(now) != want || refused.Message != "no" {
			t.Errorf("refusal %d: %+v, want %s", i, refused, want)
		}
	}
	for range 100 {
		refused.Record(now, "no")
	}
	if got := refused.Until.Sub(now); got != time.Minute {
		t.Errorf("after many refusals the wait is %s", got)
	}
}
