// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// quickly is a health check and the lookups of tests that wait for both.
const quickly = `healthCheck: {tcpSocket: {}, ` + often + `}, ` + hasten

// Ports of servers that must never be connected to. Neither two tests nor two suites on one host share
// one, since addresses that are forbidden are the same for all.
var (
	canaryPort  = uint16(10000 + os.Getpid()%10000*2)
	reboundPort = canaryPort + 1
)

// canaries stand where addresses lead. Several may lead to one place.
func (s *suite) canaries(port uint16, addresses ...string) []*externalnet.Server {
	s.Helper()
	var all []*externalnet.Server
	known := map[netip.Addr]bool{}
	for _, address := range addresses {
		at := netip.MustParseAddr(address)
		local, err := externalnet.Local(at)
		s.Must(err)
		if !known[local] {
			known[local] = true
			all = append(all, s.server(s.Servers.TCP(netip.AddrPortFrom(at, port).String())))
		}
	}
	return all
}

// untouched ends the test where a canary saw anybody.
func (s *suite) untouched(canaries []*externalnet.Server) {
	s.Helper()
	for _, canary := range canaries {
		if n := canary.Counts().Connections; n > 0 {
			s.Errorf("%s was connected to %d times", canary.At(), n)
		}
	}
}

// checkedAgain waits until each server has had a few more connections: whatever else the prober holds
// of that time has had its turn.
func (s *suite) checkedAgain(servers ...*externalnet.Server) {
	s.Helper()
	before := make([]int, len(servers))
	for i, server := range servers {
		before[i] = server.Counts().Connections
	}
	s.Eventually(func() error {
		for i, server := range servers {
			if now := server.Counts().Connections; now < before[i]+3 {
				return fmt.Errorf("%s had %d connections, now %d", server.At(), before[i], now)
			}
		}
		return nil
	})
}

func TestANameThatLeadsToAForbiddenAddressIsNeverFollowed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	node, pod := s.newNode()
	forbidden := map[string]string{
		"metadata": "169.254.169.254", "loopback": "127.0.0.1", "unspecified": "0.0.0.0", "aws": "fd00:ec2::254", "alibaba": "100.100.100.200",
		"nat64": "64:ff9b::a9fe:a9fe", "service": "10.96.0.10", "service-of-ipv6": "fd00:10:96::a",
		"node": node, "pod": pod,
	}
	s.known(node)
	const mapped = "::ffff:169.254.169.254" // no AAAA record may have that: it counts for nothing
	bad := []string{mapped}
	for _, address := range forbidden {
		bad = append(bad, address)
	}
	slices.Sort(bad)
	canaries := s.canaries(canaryPort, bad...)
	good := s.Servers.Address()
	server := s.server(s.Servers.TCP(fmt.Sprintf("%s:%d", good, canaryPort)))
	before := s.Samples().Sum("fairlead_externalservice_denied_addresses_total")

	ports := fmt.Sprintf(`ports: [{name: sql, port: %d}]`, canaryPort)
	s.Must(s.Servers.DNS.Addresses(s.host("mixed"), time.Second, append(bad, good)...))
	s.apply("mixed", `{`+ports+`, endpoints: [{name: a, dns: {name: `+s.host("mixed")+`}}], `+quickly+`}`)
	for name, address := range forbidden {
		s.Must(s.Servers.DNS.Addresses(s.host(name), time.Second, address))
		s.apply(name, `{`+ports+`, endpoints: [{name: a, dns: {name: `+s.host(name)+`}}], `+quickly+`}`)
	}
	s.Must(s.Servers.DNS.Addresses(s.host("mapped"), time.Second, mapped))
	s.apply("mapped", `{`+ports+`, endpoints: [{name: a, dns: {name: `+s.host("mapped")+`}}], `+quickly+`}`)
	s.Must(s.Servers.DNS.Reply(s.host("alias"), externalnet.CNAME, externalnet.Reply{Data: []string{"db.shop.svc.cluster.local."}, TTL: time.Second}))
	s.apply("alias", `{`+ports+`, endpoints: [{name: a, dns: {name: `+s.host("alias")+`}}], `+quickly+`}`)

	for name, address := range forbidden {
		status := s.condition(name, networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonDenied)
		if len(s.Slices(name)) > 0 {
			t.Errorf("%s is published: %s", address, framework.Text(s.Slices(name)))
		}
		found := status.Endpoints[0].Addresses
		if len(found) != 1 || found[0].Reason != networkingv1.ProbeDenied || netip.MustParseAddr(found[0].IP).Unmap() != netip.MustParseAddr(address).Unmap() {
			t.Errorf("%s in the status: %s", address, framework.Text(found))
		}
		s.Tells("ExternalService", name, "AddressDenied", 1)
	}
	s.condition("alias", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonDenied)
	s.condition("mapped", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonServFail)
	for _, name := range []string{"alias", "mapped"} {
		if len(s.Slices(name)) > 0 {
			t.Errorf("%s is published: %s", name, framework.Text(s.Slices(name)))
		}
	}
	s.condition("mixed", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.condition("mixed", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	s.publishes("mixed", good)
	s.Tells("ExternalService", "mixed", "AddressDenied", 1)
	if got := s.Samples().Sum("fairlead_externalservice_denied_addresses_total") - before; got < float64(len(forbidden)) {
		t.Errorf("denied_addresses_total grew by %v, want at least %d", got, len(forbidden))
	}
	s.checkedAgain(server)
	s.publishes("mixed", good)
	for _, slice := range s.Slices("mixed") {
		if len(slice.Endpoints) != 1 {
			t.Errorf("not the good address alone: %s", framework.Text(slice.Endpoints))
		}
	}
	s.untouched(canaries)
}

// known waits until the replica that leads counts an address as the cluster's. A user without rights
// tries, for which nothing is stored.
func (s *suite) known(addresses ...string) {
	s.Helper()
	eve := s.newPerson("known")
	for _, address := range addresses {
		s.Eventually(func() error {
			return expected(eve.create("v1", "known", static("198.51.100.1", address), client.DryRunAll), address)
		})
	}
}

func TestANameThatIsReboundIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	node, _ := s.newNode()
	s.known(node)
	canaries := s.canaries(reboundPort, "169.254.169.254", node)
	for name, target := range map[string]string{"metadata": "169.254.169.254", "node": node} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			good, steady := s.Servers.Address(), s.Servers.Address()
			s.server(s.Servers.TCP(fmt.Sprintf("%s:%d", good, reboundPort)))
			server := s.server(s.Servers.TCP(fmt.Sprintf("%s:%d", steady, reboundPort)))
			s.Must(s.Servers.DNS.Reply(s.host(name), externalnet.A,
				externalnet.Reply{Data: []string{good}}, externalnet.Reply{Data: []string{good}}, externalnet.Reply{Data: []string{good}}, externalnet.Reply{Data: []string{target}}))
			s.apply(name, fmt.Sprintf(`{ports: [{name: sql, port: %d}], endpoints: [{name: a, dns: {name: %s}}, {name: b, addresses: [%s]}], %s}`,
				reboundPort, s.host(name), steady, quickly))
			clean := func() error {
				for _, slice := range s.Slices(name) {
					if strings.Contains(framework.Text(slice), `"`+target+`"`) {
						t.Fatalf("the slice has %s: %s", target, framework.Text(slice))
					}
				}
				return nil
			}
			s.Eventually(func() error {
				s.Must(clean())
				status := s.status(name)
				for _, c := range status.Conditions {
					if c.Type == networkingv1.ConditionResolved && c.Reason == networkingv1.ReasonDenied {
						return nil
					}
				}
				return fmt.Errorf("not denied yet: %s", framework.Text(status))
			})
			s.publishes(name, good, steady) // an answer without a publishable address takes nothing away
			s.Tells("ExternalService", name, "AddressDenied", 1)
			s.checkedAgain(server)
			s.Must(clean())
		})
	}
	s.untouched(canaries)
}
