// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

func TestANamespaceCausesABoundedRateOfQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perLookup = 16*8*2 + 1 // SRV records with 16 targets of 8 aliases each
		var rogue, others atomic.Int64
		tracker := New(Options{Lookup: func(_ context.Context, name string, _ networkingv1.RecordType) dns.Answer {
			answer := dns.Answer{IPv4: part("a", time.Second), IPv6: part("NXDomain", time.Second), Queries: 2}
			if name == "db.example.com" {
				others.Add(1)
				return answer
			}
			answer.Queries = perLookup
			rogue.Add(perLookup)
			return answer
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tracker.Run(ctx) }()
		var names []Name
		for i := range 32 {
			names = append(names, Name{Host: fmt.Sprintf("_rogue-%d.example.com", i), MinTTL: time.Second, MaxTTL: time.Second})
		}
		tracker.Set(types.NamespacedName{Namespace: "rogue", Name: "db"}, names)
		tracker.Set(key("db"), []Name{{Host: "db.example.com", MinTTL: time.Second, MaxTTL: time.Second}})
		const whole = 60
		wait(whole * time.Second)
		if got, most := rogue.Load(), int64((whole+2)*queryRate+32*perLookup); got > most || got < whole*queryRate/2 {
			t.Errorf("one namespace caused %d queries in %d s, want %d at most", got, whole, most)
		}
		if got := others.Load(); got < whole/2-5 { // every other answer is shared with the one before
			t.Errorf("the name of another namespace was looked up %d times in %d s", got, whole)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestOnlySoManyNamespacesAreRemembered(t *testing.T) {
	var b budgets
	now := epoch
	for i := range 3 * maxBudgets {
		b.charge(fmt.Sprint(i), 1, now)
		now = now.Add(10 * time.Millisecond)
	}
	if len(b.paid) > maxBudgets {
		t.Errorf("%d namespaces are remembered", len(b.paid))
	}
}
