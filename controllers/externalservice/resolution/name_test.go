// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/dns"
)

func TestTheTimeBetweenLookups(t *testing.T) {
	minute := Name{MinTTL: 30 * time.Second, MaxTTL: time.Hour}
	answer := func(four, six string, ttl time.Duration) dns.Answer {
		return dns.Answer{IPv4: part(four, ttl), IPv6: part(six, 2*ttl)}
	}
	missing := answer("NXDomain", "NXDomain", 0)
	missing.IPv4.TTL, missing.IPv6.TTL = 2*time.Minute, 90*time.Second
	for name, test := range map[string]struct {
		name      Name
		answers   []dns.Answer
		low, high time.Duration
	}{
		"the TTL":                     {minute, []dns.Answer{answer("a", "v6", time.Minute)}, time.Minute, 66 * time.Second},
		"never below MinTTL":          {minute, []dns.Answer{answer("a", "v6", time.Second)}, 30 * time.Second, 33 * time.Second},
		"never above MaxTTL":          {minute, []dns.Answer{answer("a", "v6", 24*time.Hour)}, 54 * time.Minute, time.Hour},
		"nothing between the two":     {Name{MinTTL: time.Minute, MaxTTL: time.Minute}, []dns.Answer{answer("a", "v6", time.Hour)}, time.Minute, time.Minute},
		"never below a second":        {Name{}, []dns.Answer{answer("a", "v6", 0)}, time.Second, time.Second},
		"a first failure":             {minute, []dns.Answer{answer("Timeout", "Timeout", 0)}, 5 * time.Second, 5500 * time.Millisecond},
		"a first failure, hasty":      {Name{MinTTL: 2 * time.Second, MaxTTL: time.Hour}, []dns.Answer{answer("Timeout", "Timeout", 0)}, 2 * time.Second, 2200 * time.Millisecond},
		"a third failure":             {minute, []dns.Answer{answer("Timeout", "Timeout", 0), answer("Denied", "Denied", 0), answer("ServFail", "NXDomain", 0)}, 20 * time.Second, 22 * time.Second},
		"a failure after a success":   {minute, []dns.Answer{answer("Timeout", "Timeout", 0), answer("a", "v6", 0), answer("ServFail", "NXDomain", 0)}, 5 * time.Second, 5500 * time.Millisecond},
		"many failures":               {minute, make([]dns.Answer, 100), 5 * time.Minute, 330 * time.Second},
		"many failures, MaxTTL short": {Name{MaxTTL: 10 * time.Second}, make([]dns.Answer, 100), 9 * time.Second, 10 * time.Second},
		"many failures, MinTTL long":  {Name{MinTTL: 10 * time.Minute, MaxTTL: time.Hour}, make([]dns.Answer, 100), 10 * time.Minute, 11 * time.Minute},
		"no such name":                {minute, []dns.Answer{missing}, 90 * time.Second, 99 * time.Second},
		"one family fails":            {minute, []dns.Answer{answer("a", "Timeout", time.Hour)}, 30 * time.Second, 33 * time.Second},
		"one family always fails":     {minute, []dns.Answer{answer("a", "Timeout", time.Minute), answer("a", "Timeout", time.Minute), answer("a", "Timeout", time.Minute), answer("a", "Timeout", time.Minute), answer("a", "Timeout", time.Minute)}, time.Minute, 66 * time.Second},
		"records gone, perhaps":       {minute, []dns.Answer{answer("a", "v6", time.Hour), answer("a", "NXDomain", time.Hour)}, 30 * time.Second, 33 * time.Second},
		"records gone":                {minute, []dns.Answer{answer("a", "v6", time.Hour), answer("a", "NXDomain", time.Hour), answer("a", "NXDomain", time.Hour)}, 54 * time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			for at, want := range map[float64]time.Duration{0: test.low, 1: test.high} {
				r := newNameState(test.name)
				for _, answer := range test.answers {
					if answer.IPv4.Outcome == "" {
						answer = dns.Answer{IPv4: part("ServFail", 0), IPv6: part("ServFail", 0)}
					}
					r.apply(answer, epoch, at)
				}
				if got := r.state.NextTime.Sub(epoch); got != want {
					t.Errorf("with jitter %v: %s, want %s", at, got, want)
				}
			}
		})
	}
}

func TestOtherSettingsApplyAtOnce(t *testing.T) {
	r := newNameState(Name{MinTTL: time.Minute, MaxTTL: time.Hour, KeepLastFor: time.Hour})
	if r.update(Name{MinTTL: time.Minute, MaxTTL: time.Hour, KeepLastFor: time.Hour}, epoch) {
		t.Error("the same settings moved the next lookup")
	}
	r.apply(dns.Answer{IPv4: part("a", time.Hour), IPv6: part("NXDomain", 0)}, epoch, 1)
	if !r.update(Name{MinTTL: time.Minute, MaxTTL: 10 * time.Minute, KeepLastFor: time.Hour}, epoch) || !r.state.NextTime.Equal(epoch.Add(10*time.Minute)) {
		t.Errorf("the next lookup is after %s, want the new MaxTTL", r.state.NextTime.Sub(epoch))
	}
	now := epoch.Add(10 * time.Minute)
	r.apply(dns.Answer{IPv4: part("Timeout", 0), IPv6: part("Timeout", 0)}, now, 1)
	if !r.state.ExpiresAt.IsZero() {
		t.Error("KeepLast expires")
	}
	remove := Name{MinTTL: time.Minute, MaxTTL: 10 * time.Minute, KeepLastFor: time.Hour, OnFailure: "Remove"}
	r.update(remove, now)
	if want := epoch.Add(time.Hour); !r.state.ExpiresAt.Equal(want) || len(r.state.Addresses) != 1 {
		t.Errorf("with Remove they go at %s, want %s", r.state.ExpiresAt, want)
	}
	remove.KeepLastFor = 5 * time.Minute
	r.update(remove, now)
	if len(r.state.Addresses) != 0 || r.state.Reason != "Timeout" {
		t.Errorf("%q, %s; want them gone, being too old", format(r.state.Addresses), r.state.Reason)
	}
}
