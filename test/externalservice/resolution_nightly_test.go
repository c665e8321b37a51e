// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

func TestAnswersThatRotateThroughAPoolDoNotChurnSlices(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	host := s.host("pool")
	var pool []string
	for range 12 {
		pool = append(pool, s.Servers.Address())
	}
	// An address stays for 2 TTLs and a bit after it was seen last, long enough for a question that has
	// to be asked twice; and for ten lookups once the name is known to rotate.
	const ttl = 3 * time.Second
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool, TTL: ttl, Window: 8}))
	s.apply("pool", named(host, `resolution: {minTTL: 1s, maxTTL: 1h}`))
	s.publishes("pool", pool...)
	s.condition("pool", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	s.Tells("ExternalService", "pool", "Published", 1)
	// The Event of the last four addresses may come later, or not at all, where all twelve were found before any was published.
	versions := func() map[string]string {
		found := s.versions("pool")
		delete(found, "event AddressesChanged")
		return found
	}
	before := versions()
	s.lookups(host, externalnet.A, 4)
	if diff := cmp.Diff(before, versions()); diff != "" {
		t.Errorf("something was written while answers rotate (-before +now):\n%s", diff)
	}
	// Addresses that leave the pool for good do go.
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool[:9], TTL: ttl, Window: 8}))
	s.publishes("pool", pool[:9]...)
}
