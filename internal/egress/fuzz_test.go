// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"testing"
)

// FuzzCheck feeds any address: no verdict is without a reason, and an IPv4 address that is denied is
// denied in every form that leads to it.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"\x7f\x00\x00\x01", "\xa9\xfe\xa9\xfe", "\x0a\x00\x00\x0b", "\x08\x08\x08\x08", "\x00\x00\x00\x00",
		"\x64\x64\x64\xc8", "0123456789abcdef", "\x00d\xff\x9b\x00\x01\xa9\xfe\x00\xa9\xfe\x00\x00\x00\x00\x00"} {
		f.Add([]byte(seed), uint16(443), false)
	}
	policies := []*Policy{
		policyOf(Options{}), policyOf(Options{ClusterDeny: true}),
		policyOf(Options{DefaultDeny: true, Allow: []Rule{{CIDRs: cidrs("8.0.0.0/8", "64:ff9b::/32", "2002::/16")}}}),
		policyOf(Options{Deny: []Rule{{CIDRs: cidrs("8.8.8.0/24"), Ports: []uint16{443}}}}),
	}
	f.Fuzz(func(t *testing.T, raw []byte, port uint16, authorized bool) {
		ip, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		for i, p := range policies {
			q := Query{Namespace: "shop", IP: ip, Port: port, Authorized: authorized}
			verdict := p.Check(q)
			if details[verdict.Reason] == "" || verdict.Allowed != (verdict.Reason == ReasonAllowed || verdict.Reason == ReasonAuthorized) {
				t.Fatalf("policy %d, %s: %+v", i, ip, verdict)
			}
			if !ip.Is4() || verdict.Allowed {
				continue
			}
			for _, form := range embeddings(ip.As4()) {
				q.IP = form
				if got := p.Check(q); got.Allowed {
					t.Fatalf("policy %d: %s is denied (%s), and %s is not", i, ip, verdict.Reason, form)
				}
			}
		}
	})
}

// embeddings are the IPv6 addresses that lead to an IPv4 address.
func embeddings(b [4]byte) []netip.Addr {
	form := func(prefix string, places ...int) netip.Addr {
		whole := netip.MustParseAddr(prefix).As16()
		for i, place := range places {
			whole[place] = b[i]
		}
		return netip.AddrFrom16(whole)
	}
	forms := []netip.Addr{
		form("::ffff:0:0", 12, 13, 14, 15),
		form("::", 12, 13, 14, 15),
		form("::ffff:0:0:0", 12, 13, 14, 15),
		form("64:ff9b::", 12, 13, 14, 15),
		form("2002::", 2, 3, 4, 5),
		form("2002::5efe:a00:1", 2, 3, 4, 5),
		form("64:ff9b:1::", 12, 13, 14, 15),
	}
	if b[0] == 0 {
		return forms // a translator leads to no such address, and elsewhere zeros are padding
	}
	return append(forms,
		form("64:ff9b:1:2:3:4::", 12, 13, 14, 15),
		form("64:ff9b:1::", 6, 7, 9, 10),
		form("64:ff9b:1:100::", 7, 9, 10, 11),
		form("64:ff9b:1:101::", 9, 10, 11, 12))
}
