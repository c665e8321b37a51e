// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// It runs while no other test does: the addresses of others would count.
func TestANamespaceThatLosesManyAddressesFreezesNoOther(t *testing.T) {
	s := newSuite(t)
	s.alone()
	c := s.crowd()
	evil := newSuite(t)
	var theirs []string
	specs := map[string]string{}
	for i := range 3 {
		var addresses []string
		for range 60 {
			addresses = append(addresses, s.Servers.Address6())
		}
		theirs = append(theirs, addresses...)
		specs[fmt.Sprint("vote", i)] = c.spec(addresses)
	}
	evil.applyAll(specs)
	a, b, backup := s.Servers.Address(), s.Servers.Address(), s.Servers.Address()
	s.apply("fo", c.spec([]string{a, b}, []string{backup}))
	s.apply("single", c.spec([]string{a}))
	s.publishes("fo", a, b)
	for name := range specs {
		evil.condition(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	}

	c.fail(theirs...)
	for name := range specs {
		evil.condition(name, networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	}
	c.fail(append(theirs, a, b)...)
	s.publishes("fo", backup)
	s.active("fo", 1)
	s.publishes("single")
	s.condition("single", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	if got := s.suspected(); got != "0" {
		t.Errorf("probes_inconclusive is %s", got)
	}
}

// It runs while no other test does: it has all that is checked fail, and takes the nameserver down.
func TestALossOfTheOperatorsNetworkLeavesObjectsAsTheyAre(t *testing.T) {
	s := newSuite(t)
	s.alone()
	c := s.crowd()
	var all []string
	spaces := make([]*suite, 4)
	before := make([]map[string]string, len(spaces))
	addresses := make([][]string, len(spaces))
	for i := range spaces {
		spaces[i] = newSuite(t)
		addresses[i] = []string{s.Servers.Address(), s.Servers.Address(), s.Servers.Address()}
		all = append(all, addresses[i]...)
		spaces[i].apply("o", c.spec(addresses[i][:2], addresses[i][2:]))
	}
	primary, backup := s.Servers.Address(), s.Servers.Address()
	s.apply("dc", c.spec([]string{primary}, []string{backup}))
	s.publishes("dc", primary)
	for i, space := range spaces {
		space.condition("o", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		before[i] = sliceVersions(space.Slices("o"))
	}

	refused := s.Servers.Address()
	c.fail(append(all, primary, refused)...)
	s.Must(s.Servers.DNS.Down())
	t.Cleanup(func() {
		if err := s.Servers.DNS.Up(); err != nil {
			t.Error(err)
		}
	})
	for _, space := range spaces {
		space.condition("o", networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive)
	}
	if got := s.suspected(); got != "1" {
		t.Errorf("probes_inconclusive is %s", got)
	}
	// One that another address shows the network to work for fails over, and so does a new one.
	s.publishes("dc", backup)
	s.apply("newborn", c.spec([]string{refused}, []string{backup}))
	s.publishes("newborn", backup)
	s.active("newborn", 1)
	// Well beyond the threshold the others still stand.
	for i := range spaces {
		at := netip.MustParseAddr(addresses[i][0])
		seen := c.fleet.Count(at)
		s.Eventually(func() error {
			if n := c.fleet.Count(at) - seen; n < 6 {
				return fmt.Errorf("%s was checked %d times more, waiting for 6", at, n)
			}
			return nil
		})
	}
	for i, space := range spaces {
		space.publishes("o", addresses[i][:2]...)
		if diff := cmp.Diff(before[i], sliceVersions(space.Slices("o"))); diff != "" {
			t.Errorf("slices were written (-before +now):\n%s", diff)
		}
	}
	s.warns("ExternalServiceProbesInconclusive")

	s.Must(s.Servers.DNS.Up())
	c.fail()
	for i, space := range spaces {
		space.condition("o", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		space.publishes("o", addresses[i][:2]...)
		if events := space.Told("ExternalService", "o")["EndpointUnhealthy"]; len(events) != 0 {
			t.Errorf("addresses became unhealthy: %s", framework.Text(events))
		}
	}
	s.Eventually(func() error {
		if got := s.suspected(); got != "0" {
			return fmt.Errorf("probes_inconclusive is %s", got)
		}
		return nil
	})
	s.warns("ExternalServiceProbesBelieved")
}
