// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"testing"
)

func cidrs(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// cluster is where the cluster of the tests is.
func cluster() []Range {
	return []Range{
		{netip.MustParsePrefix("10.0.0.11/32"), ReasonNode},
		{netip.MustParsePrefix("2001:db8:1::11/128"), ReasonNode},
		{netip.MustParsePrefix("10.244.0.0/24"), ReasonPod},
		{netip.MustParsePrefix("fd00:10:244::/64"), ReasonPod},
		{netip.MustParsePrefix("10.96.0.0/12"), ReasonService},
		{netip.MustParsePrefix("10.96.0.1/32"), ReasonAPIServer},
		{netip.MustParsePrefix("172.16.0.2/32"), ReasonAPIServer},
	}
}

func policyOf(o Options) *Policy {
	p := NewPolicy(o)
	p.update(discovery{ranges: cluster()})
	return p
}

func TestEveryClassOfAddressHasItsVerdict(t *testing.T) {
	p := policyOf(Options{ClusterCIDRs: cidrs("10.128.0.0/14")})
	for address, want := range map[string]Reason{
		"192.0.2.10":         ReasonAllowed,
		"8.8.8.8":            ReasonAllowed,
		"2001:db8::10":       ReasonAllowed,
		"::ffff:192.0.2.10":  ReasonAllowed,
		"64:ff9b::192.0.2.1": ReasonAllowed,
		"2002:c000:201::1":   ReasonAllowed,
		"10.0.0.12":          ReasonAllowed, // beside a node
		"10.244.1.0":         ReasonAllowed, // after the last pod
		"10.95.255.255":      ReasonAllowed, // before the first Service
		"100.64.0.1":         ReasonAllowed,
		"fd00::1":            ReasonAllowed,

		"0.0.0.0":         ReasonUnspecified,
		"0.1.2.3":         ReasonUnspecified,
		"::":              ReasonUnspecified,
		"127.0.0.1":       ReasonLoopback,
		"127.255.255.254": ReasonLoopback,
		"::1":             ReasonLoopback,
		"169.254.169.254": ReasonLinkLocal,
		"169.254.170.2":   ReasonLinkLocal, // tasks' credentials at AWS
		"fe80::1":         ReasonLinkLocal,
		"febf::1":         ReasonLinkLocal,
		"fe80::a9fe:a9fe": ReasonLinkLocal, // OpenStack's metadata
		"fe80::1%eth0":    ReasonZone,
		"2001:db8::1%lo":  ReasonZone,
		"224.0.0.1":       ReasonMulticast,
		"239.255.255.250": ReasonMulticast,
		"ff02::1":         ReasonMulticast,
		"ff0e::1":         ReasonMulticast,
		"240.0.0.1":       ReasonReserved,
		"255.255.255.255": ReasonReserved,
		"::192.0.2.1":     ReasonTunnel,
		"::7f00:1":        ReasonTunnel,
		"::ffff:0:7f00:1": ReasonTunnel,
		"2001::1":         ReasonTunnel,
		"fec0::1":         ReasonReserved,
		"feff::1":         ReasonReserved,
		"100::1":          ReasonReserved,

		"2001:db8::5efe:7f00:1":    ReasonTunnel, // ISATAP, to 127.0.0.1
		"2001:db8::200:5efe:a00:1": ReasonTunnel,
		"2001:db8::5efe:c633:6401": ReasonTunnel, // whatever it holds

		"::ffff:127.0.0.1":                   ReasonLoopback,
		"::ffff:169.254.169.254":             ReasonLinkLocal,
		"64:ff9b::127.0.0.1":                 ReasonLoopback,
		"64:ff9b::169.254.169.254":           ReasonLinkLocal,
		"64:ff9b:1::169.254.169.254":         ReasonLinkLocal,
		"64:ff9b:1:a9fe:a9:fe00::":           ReasonLinkLocal, // a prefix of 48 bits
		"64:ff9b:1:00a9:00fe:a9fe::":         ReasonLinkLocal, // of 56
		"64:ff9b:1:1234:a9:fea9:fe00:0":      ReasonLinkLocal, // of 64
		"64:ff9b:1:1234:5678:9abc:a9fe:a9fe": ReasonLinkLocal, // of 96
		"64:ff9b:1::":                        ReasonUnspecified,
		"64:ff9b:1::192.0.2.1":               ReasonAllowed,
		"2002:7f00:1::":                      ReasonLoopback,
		"2002:a9fe:a9fe::1":                  ReasonLinkLocal,

		"fd00:ec2::254":            ReasonMetadata,
		"fd00:ec2::23":             ReasonMetadata,
		"fd20:ce::254":             ReasonMetadata,
		"168.63.129.16":            ReasonMetadata,
		"100.100.100.200":          ReasonMetadata,
		"192.0.0.192":              ReasonMetadata,
		"fd00:c1::a9fe:a9fe":       ReasonMetadata,
		"fd00:42::42":              ReasonMetadata,
		"::ffff:100.100.100.200":   ReasonMetadata,
		"64:ff9b::100.100.100.200": ReasonMetadata,

		"10.0.0.11":                 ReasonNode,
		"2001:db8:1::11":            ReasonNode,
		"10.244.0.0":                ReasonPod,
		"10.244.0.255":              ReasonPod,
		"fd00:10:244::ffff":         ReasonPod,
		"10.96.0.1":                 ReasonAPIServer, // and not the range of Services around it
		"10.111.255.255":            ReasonService,
		"172.16.0.2":                ReasonAPIServer,
		"10.131.255.255":            ReasonClusterCIDR,
		"::ffff:10.0.0.11":          ReasonNode,
		"64:ff9b::10.0.0.11":        ReasonNode,
		"2002:0a00:000b:1::1":       ReasonNode,
		"64:ff9b:1::10.244.0.7":     ReasonPod,
		"64:ff9b:1:fffe::192.0.2.1": ReasonReserved, // read with a prefix of 48 bits it is one
	} {
		t.Run(address, func(t *testing.T) {
			got := p.Check(Query{Namespace: "shop", IP: netip.MustParseAddr(address), Port: 443})
			if got.Reason != want || got.Allowed != (want == ReasonAllowed) || got.Detail == "" {
				t.Errorf("%+v, want %s", got, want)
			}
		})
	}
	if got := p.Check(Query{}); got.Allowed || got.Reason != ReasonInvalid {
		t.Errorf("no address: %+v", got)
	}
}

func TestRangesOfTheClusterAreKnownWhateverThePolicySays(t *testing.T) {
	p := policyOf(Options{ClusterCIDRs: cidrs("10.128.0.0/14"), Allow: []Rule{{CIDRs: cidrs("10.244.0.0/24")}}, Deny: []Rule{{CIDRs: cidrs("192.0.2.0/24")}}, DefaultDeny: true})
	for address, want := range map[string]bool{
		"10.244.0.5": true, "10.96.0.1": true, "10.0.0.11": true, "10.128.0.1": true, "::ffff:10.244.0.5": true, "64:ff9b::10.244.0.5": true,
		"10.244.1.5": false, "192.0.2.1": false, "2001:db8::1": false,
	} {
		if got := p.IsInCluster(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
	unsynced := NewPolicy(Options{})
	unsynced.clearRanges()
	if !unsynced.IsInCluster(netip.MustParseAddr("192.0.2.1")) {
		t.Error("before the ranges are known, nothing is known to lie outside of them")
	}
}

func TestOnlyTheClusterIsOpenedByTheWritersRight(t *testing.T) {
	open, shut := policyOf(Options{}), policyOf(Options{ClusterDeny: true})
	strict := policyOf(Options{DefaultDeny: true})
	for address, want := range map[string]struct{ open, shut, strict Reason }{
		"10.0.0.11":          {ReasonAuthorized, ReasonNode, ReasonAuthorized},
		"10.244.0.7":         {ReasonAuthorized, ReasonPod, ReasonAuthorized},
		"64:ff9b::10.96.0.1": {ReasonAuthorized, ReasonAPIServer, ReasonAuthorized},
		"fd00:ec2::254":      {ReasonMetadata, ReasonMetadata, ReasonMetadata},
		"127.0.0.1":          {ReasonLoopback, ReasonLoopback, ReasonLoopback},
		"192.0.2.1":          {ReasonAllowed, ReasonAllowed, ReasonNotAllowed},
	} {
		q := Query{IP: netip.MustParseAddr(address), Port: 443, Authorized: true}
		if got := open.Check(q); got.Reason != want.open {
			t.Errorf("%s: %+v, want %s", address, got, want.open)
		}
		if got := shut.Check(q); got.Reason != want.shut {
			t.Errorf("%s, clusterRanges Deny: %+v, want %s", address, got, want.shut)
		}
		if got := strict.Check(q); got.Reason != want.strict {
			t.Errorf("%s, default Deny: %+v, want %s", address, got, want.strict)
		}
	}
}

func TestAnApprovalIsOfNoUseWhereWebhooksAreNotCalled(t *testing.T) {
	p := policyOf(Options{WebhookExemptNamespaces: []string{"kube-system"}})
	for namespace, want := range map[string]Reason{"shop": ReasonAuthorized, "kube-system": ReasonNode} {
		if got := p.Check(Query{Namespace: namespace, IP: netip.MustParseAddr("10.0.0.11"), Port: 443, Authorized: true}); got.Reason != want {
			t.Errorf("%s: %+v, want %s", namespace, got, want)
		}
	}
}

func TestPrecedenceOfAllowAndDeny(t *testing.T) {
	everything := cidrs("0.0.0.0/0", "::/0")
	tests := map[string]struct {
		options Options
		query   string
		port    uint16
		want    Reason
	}{
		"deny wins over allow":                      {Options{Allow: []Rule{{CIDRs: cidrs("192.0.2.1/32")}}, Deny: []Rule{{CIDRs: cidrs("192.0.2.0/24")}}}, "192.0.2.1", 443, ReasonDeniedByPolicy},
		"deny of another port":                      {Options{Deny: []Rule{{CIDRs: everything, Ports: []uint16{22}}}}, "192.0.2.1", 443, ReasonAllowed},
		"deny of this port":                         {Options{Deny: []Rule{{CIDRs: everything, Ports: []uint16{22}}}}, "192.0.2.1", 22, ReasonDeniedByPolicy},
		"deny of a port is not of the address":      {Options{Deny: []Rule{{CIDRs: everything, Ports: []uint16{22}}}}, "192.0.2.1", 0, ReasonAllowed},
		"deny in another namespace":                 {Options{Deny: []Rule{{CIDRs: everything, Namespaces: []string{"dev"}}}}, "192.0.2.1", 443, ReasonAllowed},
		"deny in this namespace":                    {Options{Deny: []Rule{{CIDRs: everything, Namespaces: []string{"dev", "shop"}}}}, "192.0.2.1", 443, ReasonDeniedByPolicy},
		"deny reaches what is embedded":             {Options{Deny: []Rule{{CIDRs: cidrs("192.0.2.0/24")}}}, "64:ff9b::192.0.2.1", 443, ReasonDeniedByPolicy},
		"deny in mapped form":                       {Options{Deny: []Rule{{CIDRs: cidrs("::ffff:192.0.2.0/120")}}}, "192.0.2.1", 443, ReasonDeniedByPolicy},
		"deny wins over the writer's right":         {Options{Deny: []Rule{{CIDRs: cidrs("10.244.0.0/16")}}}, "10.244.0.7+", 443, ReasonDeniedByPolicy},
		"default Deny":                              {Options{DefaultDeny: true}, "192.0.2.1", 443, ReasonNotAllowed},
		"default Deny, allowed":                     {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: cidrs("192.0.2.0/24")}}}, "192.0.2.1", 443, ReasonAllowed},
		"default Deny, allowed at another port":     {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: everything, Ports: []uint16{443}}}}, "192.0.2.1", 80, ReasonNotAllowed},
		"default Deny, some port is allowed":        {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: everything, Ports: []uint16{443}}}}, "192.0.2.1", 0, ReasonAllowed},
		"default Deny, allowed elsewhere":           {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: everything, Namespaces: []string{"dev"}}}}, "192.0.2.1", 443, ReasonNotAllowed},
		"default Deny, the embedded end counts":     {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: cidrs("64:ff9b::/96")}}}, "64:ff9b::192.0.2.1", 443, ReasonNotAllowed},
		"default Deny, the embedded end allowed":    {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: cidrs("192.0.2.0/24")}}}, "64:ff9b::192.0.2.1", 443, ReasonAllowed},
		"allow opens a range of the cluster":        {Options{Allow: []Rule{{CIDRs: cidrs("10.96.0.0/12")}}}, "10.100.0.1", 443, ReasonAllowed},
		"but not the API server in it":              {Options{Allow: []Rule{{CIDRs: cidrs("10.96.0.0/12")}}}, "10.96.0.1", 443, ReasonAPIServer},
		"allow opens the API server by its address": {Options{Allow: []Rule{{CIDRs: cidrs("10.96.0.1/32")}}}, "10.96.0.1", 443, ReasonAllowed},
		"allow opens a part of it":                  {Options{Allow: []Rule{{CIDRs: cidrs("10.100.0.0/16")}}}, "10.100.0.1", 443, ReasonAllowed},
		"allow around it does not":                  {Options{Allow: []Rule{{CIDRs: cidrs("10.0.0.0/8")}}}, "10.100.0.1", 443, ReasonService},
		"allow of everything does not":              {Options{Allow: []Rule{{CIDRs: everything}}}, "10.0.0.11", 443, ReasonNode},
		"allow opens all that is configured":        {Options{ClusterCIDRs: cidrs("10.0.0.0/16"), Allow: []Rule{{CIDRs: cidrs("10.0.0.0/16")}}}, "10.0.0.11", 443, ReasonAllowed},
		"allow opens it at its ports only":          {Options{Allow: []Rule{{CIDRs: cidrs("10.0.0.11/32"), Ports: []uint16{443}}}}, "10.0.0.11", 10250, ReasonNode},
		"allow opens it in its namespaces only":     {Options{Allow: []Rule{{CIDRs: cidrs("10.0.0.11/32"), Namespaces: []string{"dev"}}}}, "10.0.0.11", 443, ReasonNode},
		"allow opens metadata":                      {Options{Allow: []Rule{{CIDRs: cidrs("100.100.100.200/32")}}}, "100.100.100.200", 80, ReasonAllowed},
		"allow around metadata does not":            {Options{Allow: []Rule{{CIDRs: cidrs("100.64.0.0/10")}}}, "100.100.100.200", 80, ReasonMetadata},
		"allow does not open loopback":              {Options{Allow: []Rule{{CIDRs: cidrs("127.0.0.1/32")}}}, "127.0.0.1", 80, ReasonLoopback},
		"allow does not open link-local":            {Options{Allow: []Rule{{CIDRs: cidrs("169.254.169.254/32")}}}, "169.254.169.254", 80, ReasonLinkLocal},
		"allow does not open embedded loopback":     {Options{Allow: []Rule{{CIDRs: cidrs("64:ff9b::/96")}}}, "64:ff9b::7f00:1", 80, ReasonLoopback},
		"a rule without CIDRs matches nothing":      {Options{Deny: []Rule{{Ports: []uint16{443}}}}, "192.0.2.1", 443, ReasonAllowed},
		"the narrowest CIDR of an entry counts":     {Options{Allow: []Rule{{CIDRs: cidrs("10.0.0.0/8", "10.0.0.11/32")}}}, "10.0.0.11", 443, ReasonAllowed},
		"default Deny does not close what is open":  {Options{DefaultDeny: true, Allow: []Rule{{CIDRs: cidrs("10.0.0.11/32")}}}, "10.0.0.11", 443, ReasonAllowed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := Query{Namespace: "shop", Port: test.port}
			if last := len(test.query) - 1; test.query[last] == '+' {
				test.query, q.Authorized = test.query[:last], true
			}
			q.IP = netip.MustParseAddr(test.query)
			if got := policyOf(test.options).Check(q); got.Reason != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

func TestNothingIsAllowedBeforeTheRangesAreKnown(t *testing.T) {
	notified := 0
	p := NewPolicy(Options{Notify: func() { notified++ }, Allow: []Rule{{CIDRs: cidrs("192.0.2.0/24")}}})
	outside := Query{IP: netip.MustParseAddr("192.0.2.1"), Port: 443, Authorized: true}
	if !p.Synced() || !p.Check(outside).Allowed {
		t.Error("without a Ranges there is nothing to wait for")
	}
	p.clearRanges()
	if got := p.Check(outside); p.Synced() || got.Allowed || got.Reason != ReasonUnsynced {
		t.Errorf("synced %t, %+v", p.Synced(), got)
	}
	if got := p.Check(Query{IP: netip.MustParseAddr("127.0.0.1")}); got.Reason != ReasonLoopback {
		t.Errorf("what nothing lifts needs no ranges: %+v", got)
	}
	if !p.update(discovery{}) || !p.Synced() || !p.Check(outside).Allowed || notified != 1 {
		t.Errorf("synced %t, notified %d times", p.Synced(), notified)
	}
	if p.update(discovery{}) || notified != 1 {
		t.Errorf("the same ranges again were a change; notified %d times", notified)
	}
	if !p.update(discovery{ranges: cluster()}) || notified != 2 {
		t.Errorf("other ranges were none; notified %d times", notified)
	}
}

func TestAnAddressIsDeniedWithAnyOfItsPorts(t *testing.T) {
	p := NewPolicy(Options{Deny: []Rule{{CIDRs: cidrs("192.0.2.0/24"), Ports: []uint16{22}}}})
	q := Query{IP: netip.MustParseAddr("192.0.2.1"), Port: 22}
	for name, test := range map[string]struct {
		ports []uint16
		want  Reason
	}{
		"none of them": {[]uint16{80, 443}, ReasonAllowed},
		"one of them":  {[]uint16{80, 22}, ReasonDeniedByPolicy},
		"no ports":     {nil, ReasonAllowed},
	} {
		if got := p.CheckPorts(q, test.ports); got.Reason != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEveryReasonHasItsSentence(t *testing.T) {
	for reason, detail := range details {
		if detail == "" || reason == "" {
			t.Errorf("%q: %q", reason, detail)
		}
	}
	for _, r := range cluster() {
		if !r.Reason.InCluster() {
			t.Errorf("%s is in the cluster", r.Reason)
		}
	}
	if ReasonMetadata.InCluster() || ReasonDeniedByPolicy.InCluster() {
		t.Error("not every denial is about the cluster")
	}
}
