// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"strings"
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

// RFC 2782 has a record that says that there is no such service: it is no failure.
func TestAnSRVRecordThatSaysThatThereIsNoServiceTakesItsAddressesAway(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	service, target, address := s.host("_sql._tcp"), s.host("db"), s.Servers.Address()
	srv := func(data ...string) {
		s.Must(s.Servers.DNS.Reply(service, externalnet.SRV, externalnet.Reply{Data: data, TTL: time.Second}))
	}
	s.Must(s.Servers.DNS.Addresses(target, time.Second, address))
	srv("0 1 5432 " + target + ".")
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: `+service+`, recordType: SRV}}], `+hasten+`}`)
	s.publishes("db", address)
	says := func(part string) {
		s.Eventually(func() error {
			if message := s.message("db", networkingv1.ConditionResolved); !strings.Contains(message, part) {
				return fmt.Errorf("the message is %q", message)
			}
			return nil
		})
	}
	srv("0 1 5432 192.0.2.1.")
	says("1 SRV target is an IP address instead of a name")
	srv("0 1 5432 " + s.host("gone") + ".")
	says("1 SRV target does not exist, or has no address")
	s.publishes("db", address)
	srv("0 0 0 .")
	s.publishes("db")
	says("there is no such service")
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
	srv("0 1 5432 " + target + ".")
	s.publishes("db", address)
}
