// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// lookups draws what the lookups of a name return, each either a failure of both families or addresses of one.
func lookups() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a b", "b", "a b c", "NXDomain", "ServFail", "Timeout", "Denied"}), 1, 40)
}

func answerOf(text string) dns.Answer {
	four, six := part(text, time.Minute), part("NXDomain", time.Minute)
	if four.Outcome != dns.Resolved {
		six = four
	}
	return dns.Answer{IPv4: four, IPv6: six}
}

// Law 1: a lookup that fails takes no address away, before the name has resolved and, with KeepLast, at any time.
func TestLawAFailedLookupTakesNothingAway(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := Name{MinTTL: time.Second, MaxTTL: time.Minute, KeepLastFor: time.Hour, Seed: addresses("a v6")}
		if rapid.Bool().Draw(rt, "resolved before") {
			name.SeedTime = epoch
		}
		if rapid.Bool().Draw(rt, "remove") {
			name.OnFailure = networkingv1.ResolutionRemove
		}
		n, now := newNameState(name), epoch
		for _, text := range lookups().Draw(rt, "lookups") {
			before, answer := n.state.Addresses, answerOf(text)
			n.apply(answer, now, 0.5)
			lost := answer.Outcome() != dns.Resolved && !slices.Equal(before, n.state.Addresses)
			mayExpire := name.OnFailure == networkingv1.ResolutionRemove && !now.Before(n.state.ResolvedTime.Add(name.KeepLastFor))
			if lost && (n.state.ResolvedTime.IsZero() || !mayExpire) {
				rt.Fatalf("%q took %v away and left %v", text, before, n.state.Addresses)
			}
			if wait := n.state.NextTime.Sub(now); wait <= 0 || wait > name.MaxTTL { // law 9
				rt.Fatalf("after %q the next lookup is in %s", text, wait)
			}
			now = n.state.NextTime
		}
	})
}

// Laws 3 and 4: a process that begins with the addresses of the one before has what that had, once the name resolves;
// and the same answer again changes nothing.
func TestLawForgettingANameIsHarmless(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := Name{MinTTL: time.Second, MaxTTL: time.Minute, KeepLastFor: time.Hour}
		kept, now := newNameState(name), epoch
		forgetful := newNameState(name)
		for _, text := range lookups().Draw(rt, "lookups") {
			if rapid.Bool().Draw(rt, "restart") {
				seeded := name
				seeded.Seed, seeded.SeedTime = forgetful.state.Addresses, forgetful.state.ResolvedTime
				forgetful = newNameState(seeded)
			}
			kept.apply(answerOf(text), now, 0.5)
			forgetful.apply(answerOf(text), now, 0.5)
			now = now.Add(2 * time.Minute)
		}
		for range 40 {
			kept.apply(answerOf("a"), now, 0.5)
			forgetful.apply(answerOf("a"), now, 0.5)
			now = now.Add(2 * time.Minute)
		}
		before := kept.state.Addresses
		kept.apply(answerOf("a"), now, 0.5)
		if !slices.Equal(kept.state.Addresses, forgetful.state.Addresses) || !slices.Equal(before, kept.state.Addresses) {
			rt.Fatalf("with restarts %v, without %v, and before the last answer %v", forgetful.state.Addresses, kept.state.Addresses, before)
		}
	})
}
