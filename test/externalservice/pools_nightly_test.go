// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// A process knows of a pool what the one before has found out by many lookups.
func TestANameOfTwentyAddressesLosesNoneByAnotherLeader(t *testing.T) {
	s := newSuite(t)
	host := s.host("pool")
	var pool []string
	for range 20 {
		pool = append(pool, s.Servers.Address())
	}
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool, TTL: time.Second, Window: 2}))
	s.apply("pool", named(host, `resolution: {minTTL: 1s, maxTTL: 5s}`))
	s.publishes("pool", pool...)
	s.lookups(host, externalnet.A, 15) // while they go on returning
	s.publishes("pool", pool...)
	lost := s.lostAddresses("pool", pool)

	changes := []struct {
		name string
		run  func()
	}{{"SIGKILL", s.KillLeader}, {"SIGTERM", s.stopLeader}, {"SIGSTOP", s.pauseLeader}}
	rounds := 3
	if framework.Long() {
		rounds = 10
	}
	for i := range rounds {
		change := changes[i%len(changes)]
		change.run()
		s.lookups(host, externalnet.A, 3)
		if got := lost(); len(got) > 0 {
			t.Fatalf("change %d of the leader, by %s: lost are %q", i, change.name, got)
		}
	}
	// No replica leads for a while, and then the DNS server fails.
	s.Renew(func() { s.Must(s.Servers.DNS.Fail(host, externalnet.ServFail)) })
	s.condition("pool", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	s.Servers.DNS.Forget(host)
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool, TTL: time.Second, Window: 2}))
	s.condition("pool", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	s.lookups(host, externalnet.A, 3)
	s.publishes("pool", pool...)
	if got := lost(); len(got) > 0 {
		t.Errorf("lost are %q", got)
	}
	// What leaves the pool does go.
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool[:6], TTL: time.Second, Window: 2}))
	s.publishes("pool", pool[:6]...)
}
