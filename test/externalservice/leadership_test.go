// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// stopLeader ends the leader as a rollout does, and returns when another replica leads and there are
// two again.
func (s *suite) stopLeader() {
	s.Helper()
	s.Retire(s.Leader())
	s.Must(s.Fill(s.Context()))
	s.Leader()
}

// picture is all that users see of an ExternalService, and that must not change while nothing
// outside does.
type picture struct {
	Slices     []discoveryv1.EndpointSlice
	Conditions []metav1.Condition
	Versions   map[string]string // of the object, its Service and slices, and how many events there are
}

func (s *suite) pictures(names ...string) map[string]picture {
	s.Helper()
	all := map[string]picture{}
	for _, name := range names {
		all[name] = picture{s.Slices(name), s.status(name).Conditions, s.versions(name)}
	}
	return all
}

func TestAnOutageIsLeftAsItIsByTheNextLeader(t *testing.T) {
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(5432, 6)
	primary, standby, well, ill, found, dormant := servers[0], servers[1], servers[2], servers[3], servers[4], servers[5]
	s.Must(s.Servers.DNS.Addresses(s.host("db"), time.Second, addresses[4]))
	s.Must(s.Servers.DNS.Addresses(s.host("asleep"), time.Second, addresses[5]))
	const checks = `ports: [{name: sql, port: 5432}], ` + quickly
	s.applyAll(map[string]string{
		"db":     fmt.Sprintf(`{%s, failover: {failbackDelay: 2s}, endpoints: [{name: a, addresses: [%s]}, {name: b, priority: 1, addresses: [%s]}]}`, checks, addresses[0], addresses[1]),
		"pool":   fmt.Sprintf(`{%s, endpoints: [{name: a, addresses: [%s, %s]}]}`, checks, addresses[2], addresses[3]),
		"named":  fmt.Sprintf(`{%s, endpoints: [{name: a, dns: {name: %s}}]}`, checks, s.host("db")),
		"asleep": fmt.Sprintf(`{%s, endpoints: [{name: a, dns: {name: %s}}]}`, checks, s.host("asleep")),
	})
	names := []string{"db", "pool", "named", "asleep"}
	for _, name := range names {
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	}
	s.change("asleep", func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })

	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, primary, ill)
	s.Must(s.Servers.DNS.Fail(s.host("db"), externalnet.ServFail))
	s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy)
	s.publishes("db", addresses[1])
	s.condition("pool", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded)
	s.publishes("pool", addresses[2])
	s.condition("named", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	s.publishes("named", addresses[4])
	s.Tells("ExternalService", "db", "FailedOver", 1)
	s.Tells("ExternalService", "named", "ResolveFailed", 1)
	s.Tells("ExternalService", "pool", "EndpointUnhealthy", 1)
	s.Tells("ExternalService", "db", "EndpointUnhealthy", 1)
	s.checkedAgain(standby) // what was under way for the object that is suspended has ended
	probed, asked := dormant.Counts().Connections, s.Servers.DNS.Count(s.host("asleep"), "", "")
	before := s.pictures(names...)

	for _, takeover := range []struct {
		name string
		run  func()
	}{
		{"the leader is killed", s.KillLeader},
		{"the leader stops", s.stopLeader},
		{"all replicas are restarted", func() { s.Renew(nil) }},
	} {
		takeover.run()
		s.checkedAgain(standby, well, found) // by the new leader
		s.lookups(s.host("db"), externalnet.A, 2)
		if diff := cmp.Diff(before, s.pictures(names...)); diff != "" {
			t.Errorf("after %s (-before +now):\n%s", takeover.name, diff)
		}
	}
	if now := dormant.Counts().Connections; now != probed {
		t.Errorf("%d connections for an object that is suspended", now-probed)
	}
	if now := s.Servers.DNS.Count(s.host("asleep"), "", ""); now != asked {
		t.Errorf("%d lookups for an object that is suspended", now-asked)
	}

	// What comes back is taken back.
	s.set(externalnet.Behavior{}, primary, ill)
	moved := s.Servers.Address()
	s.server(s.Servers.TCP(moved + ":5432"))
	s.Must(s.Servers.DNS.Addresses(s.host("db"), time.Second, moved))
	s.publishes("db", addresses[0])
	s.publishes("pool", addresses[2], addresses[3])
	s.publishes("named", moved)
	s.Tells("ExternalService", "db", "FailedBack", 1)
	s.Tells("ExternalService", "db", "FailedOver", 1)
	s.without("db", networkingv1.ConditionFailedOver)
}

func TestALeaderThatStartsWhileDNSIsDownKeepsEverything(t *testing.T) {
	s := newSuite(t)
	s.amongMany()
	addresses, _ := s.tcp(5432, 3)
	s.Must(s.Servers.DNS.Addresses(s.host("db"), time.Second, addresses[0], addresses[1]))
	const spec = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: %s}}], ` + hasten + `%s}`
	s.applyAll(map[string]string{
		"checked":   fmt.Sprintf(spec, s.host("db"), `, healthCheck: {tcpSocket: {}, `+often+`}`),
		"unchecked": fmt.Sprintf(spec, s.host("db"), ""),
	})
	for _, name := range []string{"checked", "unchecked"} {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
		s.publishes(name, addresses[0], addresses[1])
	}
	before := map[string][]discoveryv1.EndpointSlice{"checked": s.Slices("checked"), "unchecked": s.Slices("unchecked")}
	same := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, map[string][]discoveryv1.EndpointSlice{"checked": s.Slices("checked"), "unchecked": s.Slices("unchecked")}); diff != "" {
			t.Errorf("%s (-before +now):\n%s", when, diff)
		}
	}
	defer s.Servers.DNS.FailAll(externalnet.NoFault)
	s.Renew(func() { s.Servers.DNS.FailAll(externalnet.Silent) })
	s.apply("after", fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [%s]}]}`, addresses[2]))
	s.publishes("after", addresses[2])
	for _, name := range []string{"checked", "unchecked"} {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	}
	same("with DNS down")
	s.Servers.DNS.FailAll(externalnet.NoFault)
	for _, name := range []string{"checked", "unchecked"} {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	}
	same("with DNS up again")
}

func TestANameThatFailsAfterARestartKeepsItsAddressesForAsLongAsAfterItsLastSuccess(t *testing.T) {
	s := newSuite(t)
	host, address := s.host("db"), s.Servers.Address()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, address))
	s.apply("db", named(host, `resolution: {minTTL: 1s, maxTTL: 2s, keepLastFor: 6s, onFailure: Remove}`))
	s.publishes("db", address)
	published := time.Now()
	s.Eventually(func() error { // the status has had no reason to change since
		if since := time.Since(published); since < 7*time.Second {
			return fmt.Errorf("published for %s, which is shorter than keepLastFor", since)
		}
		return nil
	})
	s.Renew(func() { s.Must(s.Servers.DNS.Fail(host, externalnet.ServFail)) })
	s.condition("db", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	if got := s.published("db"); len(got) != 1 {
		t.Errorf("%q is published after the first lookup that failed", got)
	}
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
}
