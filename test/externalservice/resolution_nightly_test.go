// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
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

func TestAddressesOfANameThatFailsGoWhenThatIsWanted(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	specs, addresses := map[string]string{}, map[string]string{}
	for name, policy := range map[string]string{"remove": "Remove", "keep": "KeepLast"} {
		addresses[name] = s.Servers.Address()
		s.Must(s.Servers.DNS.Addresses(s.host(name), time.Second, addresses[name]))
		specs[name] = named(s.host(name), `resolution: {minTTL: 1s, maxTTL: 2s, keepLastFor: 20s, onFailure: `+policy+`}`)
	}
	s.applyAll(specs)
	s.publishes("remove", addresses["remove"])
	s.publishes("keep", addresses["keep"])
	for name := range specs {
		s.Must(s.Servers.DNS.Fail(s.host(name), externalnet.ServFail))
	}
	s.condition("keep", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	s.condition("remove", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
	s.condition("remove", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonServFail)
	if all := s.Slices("remove"); len(all) != 0 {
		t.Errorf("there are still slices: %s", framework.Text(all))
	}
	// That they were kept at first is in the event.
	if event := s.Tells("ExternalService", "remove", "ResolveFailed", 1)[0]; !strings.Contains(event.Note, "1 address is kept") {
		t.Errorf("the addresses were not kept at first: %s", event.Note)
	}
	s.Must(s.Servers.DNS.Addresses(s.host("remove"), time.Second, addresses["remove"]))
	s.publishes("remove", addresses["remove"])
	s.condition("remove", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.publishes("keep", addresses["keep"])
}

func TestNamesAreLookedUpAsOftenAsTheirTTLsWithinLimits(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	cases := map[string]struct {
		ttl    time.Duration
		limits string
		least  time.Duration // between two lookups
	}{
		"short":  {0, `minTTL: 3s, maxTTL: 1h`, 3 * time.Second},
		"long":   {24 * time.Hour, `minTTL: 1s, maxTTL: 1s`, 900 * time.Millisecond},
		"within": {3 * time.Second, `minTTL: 1s, maxTTL: 1h`, 3 * time.Second},
	}
	specs := map[string]string{}
	for name, c := range cases {
		s.Must(s.Servers.DNS.Addresses(s.host(name), c.ttl, s.Servers.Address()))
		specs[name] = named(s.host(name), `resolution: {`+c.limits+`}`)
	}
	began := time.Now()
	s.applyAll(specs)
	for name := range cases {
		// Without the limits the name of a day would be asked for once.
		s.lookups(s.host(name), externalnet.A, 3)
	}
	for name, c := range cases {
		n := s.Servers.DNS.Count(s.host(name), externalnet.A, "")
		took := time.Since(began)
		most := 2 + int(took/c.least) // a question that gets lost is asked again
		if n > most {
			t.Errorf("%s: looked up %d times within %s, want %d at most", name, n, took, most)
		}
	}
}

func TestNamesAreFullyQualified(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	label := "single-" + s.Namespace // where search lists apply most often
	address := s.Servers.Address()
	s.Must(s.Servers.DNS.Addresses(s.host("dot"), time.Second, address))
	s.applyAll(map[string]string{"label": named(label, hasten), "dot": named(s.host("dot")+".", hasten), "none": named(s.host("none"), hasten)})
	s.publishes("dot", address)
	for _, host := range []string{label, s.host("none"), s.host("dot")} {
		s.lookups(host, externalnet.A, 2)
	}
	for _, query := range s.Servers.DNS.Queries() {
		for _, host := range []string{label, s.host("none"), s.host("dot")} {
			if strings.HasPrefix(query.Name, host+".") {
				t.Errorf("%s was asked for, which no object names", query.Name)
			}
		}
	}
}
