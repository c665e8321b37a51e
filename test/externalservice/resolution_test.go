// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// named is the spec of an ExternalService of one name on port 5432; more is further fields of the spec.
func named(host string, more ...string) string {
	return strings.Join(append([]string{`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: ` + host + `}}]`}, more...), ", ") + "}"
}

// byFamily are the addresses of the slices of a Service by the type of the slice.
func (s *suite) byFamily(service string) map[discoveryv1.AddressType][]string {
	s.Helper()
	found := map[discoveryv1.AddressType][]string{}
	for _, slice := range s.Slices(service) {
		for _, endpoint := range slice.Endpoints {
			found[slice.AddressType] = append(found[slice.AddressType], endpoint.Addresses...)
		}
		slices.Sort(found[slice.AddressType])
	}
	return found
}

// lookups waits until a name was asked for so many more times.
func (s *suite) lookups(host, kind string, more int) {
	s.Helper()
	until := s.Servers.DNS.Count(host, kind, "") + more
	s.Eventually(func() error {
		if n := s.Servers.DNS.Count(host, kind, ""); n < until {
			return fmt.Errorf("%s was asked for %d times, waiting for %d", host, n, until)
		}
		return nil
	})
}

func TestANameLeadsToAllOfItsAddresses(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	four, four2, six := s.Servers.Address(), s.Servers.Address(), s.Servers.Address6()
	both, alias, long, service := s.host("both"), s.host("alias"), s.host("long"), s.host("_sql._tcp")
	dns := s.Servers.DNS
	s.Must(dns.Addresses(both, time.Minute, four2, four, six))
	s.Must(dns.Reply(alias, externalnet.CNAME, externalnet.Reply{Data: []string{s.host("next") + "."}, TTL: time.Minute}))
	s.Must(dns.Reply(s.host("next"), externalnet.CNAME, externalnet.Reply{Data: []string{s.host("last") + "."}, TTL: time.Minute}))
	s.Must(dns.Addresses(s.host("last"), time.Minute, four))
	s.Must(dns.Reply(long, externalnet.A, externalnet.Reply{Data: []string{four, four2}, TTL: time.Minute, Fault: externalnet.Truncated}))
	s.Must(dns.Reply(service, externalnet.SRV, externalnet.Reply{Data: []string{"10 5 6000 " + both + ".", "10 5 6001 " + s.host("last") + "."}, TTL: time.Minute}))
	s.applyAll(map[string]string{
		"both": named(both), "alias": named(alias), "long": named(long),
		"service": `{ports: [{name: sql, port: 5432, targetPort: 5433}], endpoints: [{name: a, dns: {name: ` + service + `, recordType: SRV}}]}`,
	})

	for _, name := range []string{"both", "alias", "long", "service"} {
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	}
	sorted := []string{four, four2}
	slices.Sort(sorted)
	want := map[discoveryv1.AddressType][]string{discoveryv1.AddressTypeIPv4: sorted, discoveryv1.AddressTypeIPv6: {six}}
	if diff := cmp.Diff(want, s.byFamily("both")); diff != "" {
		t.Errorf("A and AAAA records, by slices (-want +got):\n%s", diff)
	}
	s.publishes("alias", four)
	s.publishes("long", four, four2)
	if n := dns.Count(long, externalnet.A, "tcp"); n == 0 {
		t.Error("what was truncated over UDP was not asked for over TCP")
	}
	ports := map[string][]int32{}
	for _, slice := range s.Slices("service") {
		for _, endpoint := range slice.Endpoints {
			for _, port := range slice.Ports {
				ports[endpoint.Addresses[0]] = append(ports[endpoint.Addresses[0]], ptr.Deref(port.Port, 0))
			}
		}
	}
	for _, list := range ports {
		slices.Sort(list)
	}
	if diff := cmp.Diff(map[string][]int32{four: {6000, 6001}, four2: {6000}, six: {6000}}, ports); diff != "" {
		t.Errorf("ports of SRV records (-want +got):\n%s", diff)
	}
}

func TestSlicesFollowWhatANameLeadsTo(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	host, old, next := s.host("db"), s.Servers.Address(), s.Servers.Address()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, old))
	s.apply("db", named(host, hasten))
	s.publishes("db", old)
	s.Must(s.Servers.DNS.Addresses(host, time.Second, next))
	s.publishes("db", next)
	if found := s.byFamily("db"); len(found[discoveryv1.AddressTypeIPv4]) != 1 {
		t.Errorf("slices hold %v, want %s only", found, next)
	}
	s.Tells("ExternalService", "db", "AddressesChanged", 1)
}

func TestAddressesStayWhileTheirNameFails(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	cases := map[string]struct {
		fault externalnet.DNSFault
		cause string
	}{
		"servfail": {externalnet.ServFail, networkingv1.ReasonServFail},
		"refused":  {externalnet.Refused, networkingv1.ReasonServFail},
		"nxdomain": {externalnet.NXDomain, networkingv1.ReasonNXDomain},
		"nodata":   {externalnet.NoData, networkingv1.ReasonNXDomain},
		"silent":   {externalnet.Silent, networkingv1.ReasonTimeout},
	}
	specs, addresses := map[string]string{}, map[string][]string{}
	for name := range cases {
		addresses[name] = []string{s.Servers.Address(), s.Servers.Address6()}
		s.Must(s.Servers.DNS.Addresses(s.host(name), time.Second, addresses[name]...))
		specs[name] = named(s.host(name), hasten)
	}
	s.applyAll(specs)
	before := map[string]map[string]string{}
	for name := range cases {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
		s.publishes(name, addresses[name]...)
		before[name] = sliceVersions(s.Slices(name))
	}
	for name, c := range cases {
		s.Must(s.Servers.DNS.Fail(s.host(name), c.fault))
	}
	for name, c := range cases {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
		s.lookups(s.host(name), externalnet.A, 3)
		status := s.condition(name, networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
		if message := s.message(name, networkingv1.ConditionResolved); !strings.Contains(message, "("+c.cause+")") {
			t.Errorf("%s: the condition does not tell of %s: %s", name, c.cause, message)
		}
		if got := status.Endpoints[0].Reason; got != networkingv1.ReasonStale {
			t.Errorf("%s: the reason of the endpoint is %s", name, got)
		}
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		if diff := cmp.Diff(before[name], sliceVersions(s.Slices(name))); diff != "" {
			t.Errorf("%s: slices were written (-before +now):\n%s", name, diff)
		}
	}
	for name := range cases {
		s.Must(s.Servers.DNS.Addresses(s.host(name), time.Second, addresses[name]...))
	}
	for name := range cases {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
		s.Tells("ExternalService", name, "ResolveFailed", 1)
		if diff := cmp.Diff(before[name], sliceVersions(s.Slices(name))); diff != "" {
			t.Errorf("%s: slices were written (-before +now):\n%s", name, diff)
		}
	}
}

func TestAFamilyThatFailsStaysWhileTheOtherMoves(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	host, old, next, six := s.host("db"), s.Servers.Address(), s.Servers.Address(), s.Servers.Address6()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, old, six))
	s.apply("db", named(host, hasten))
	s.publishes("db", old, six)
	version := func() string {
		for _, slice := range s.Slices("db") {
			if slice.AddressType == discoveryv1.AddressTypeIPv6 {
				return slice.Name + " " + string(slice.UID) + " " + slice.ResourceVersion
			}
		}
		return "none"
	}
	before := version()
	s.Must(s.Servers.DNS.Reply(host, externalnet.AAAA, externalnet.Reply{Fault: externalnet.ServFail}))
	s.condition("db", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: []string{next}, TTL: time.Second}))
	s.publishes("db", next, six)
	s.lookups(host, externalnet.AAAA, 3)
	if after := version(); after != before {
		t.Errorf("the slice of IPv6 was %s and is %s", before, after)
	}
	s.Must(s.Servers.DNS.Reply(host, externalnet.AAAA, externalnet.Reply{Data: []string{six}, TTL: time.Second}))
	s.condition("db", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	if after := version(); after != before {
		t.Errorf("the slice of IPv6 was %s and is %s once AAAA resolves again", before, after)
	}
}

func TestAnExternalServiceIsReadyOnceItsNameExists(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	host, address := s.host("later"), s.Servers.Address()
	s.apply("later", named(host, hasten))
	s.condition("later", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
	s.condition("later", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonNXDomain)
	s.Tells("ExternalService", "later", "ResolveFailed", 1)
	if published := s.published("later"); len(published) > 0 {
		t.Errorf("%q is published of a name that does not exist", published)
	}
	s.Must(s.Servers.DNS.Addresses(host, time.Second, address))
	s.Kubectl("wait", "--for=condition=Ready", "--timeout="+framework.Patience.String(), "externalservice/later")
	s.publishes("later", address)
}

// message is that of a condition now.
func (s *suite) message(name, kind string) string {
	s.Helper()
	for _, condition := range s.status(name).Conditions {
		if condition.Type == kind {
			return condition.Message
		}
	}
	return ""
}
