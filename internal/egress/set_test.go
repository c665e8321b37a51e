// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// many are the ranges of a cluster with so many nodes, of both families.
func many(nodes int) []Range {
	ranges := []Range{{netip.MustParsePrefix("172.20.0.0/16"), ReasonService}}
	for i := range nodes {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], 0x0a000000+uint32(i)*3)
		var pods [4]byte
		binary.BigEndian.PutUint32(pods[:], 0x64400000+uint32(i)<<8)
		ranges = append(ranges,
			Range{netip.PrefixFrom(netip.AddrFrom4(ip), 32), ReasonNode},
			Range{netip.PrefixFrom(netip.AddrFrom4(pods), 24), ReasonPod},
			Range{netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 1, 0, byte(i >> 8), byte(i)}), 64), ReasonPod})
	}
	return ranges
}

func TestFindAgreesWithAScanOfAllRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var ranges []Range
		for range random.IntN(40) {
			ip := netip.AddrFrom4([4]byte{10, byte(random.IntN(4)), byte(random.IntN(4)), byte(random.IntN(256))})
			if random.IntN(4) == 0 {
				ip = netip.AddrFrom16([16]byte{0xfd, 15: byte(random.IntN(256))})
			}
			ranges = append(ranges, Range{netip.PrefixFrom(ip, random.IntN(ip.BitLen()-7)+8), ReasonPod})
		}
		s := newRangeSet(ranges)
		for range 200 {
			ip := netip.AddrFrom4([4]byte{10, byte(random.IntN(5)), byte(random.IntN(5)), byte(random.IntN(256))})
			if random.IntN(4) == 0 {
				ip = netip.AddrFrom16([16]byte{0xfd, 15: byte(random.IntN(256))})
			}
			widest := -1
			for _, r := range ranges {
				if r.Prefix.Contains(ip) && (widest < 0 || r.Prefix.Bits() < widest) {
					widest = r.Prefix.Bits()
				}
			}
			got, in := s.find(ip)
			if in != (widest >= 0) || in && got.Prefix.Bits() != widest {
				t.Fatalf("%s in %v: found %v, %t; the widest has %d bits", ip, ranges, got, in, widest)
			}
		}
	}
}

func TestRangesWithoutAPrefixAreLeftOut(t *testing.T) {
	s := newRangeSet([]Range{{Reason: ReasonPod}, {netip.PrefixFrom(netip.MustParseAddr("10.0.0.0"), 99), ReasonPod}})
	if len(s.v4)+len(s.v6) != 0 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkCheck(b *testing.B) {
	p := NewPolicy(Options{Deny: []Rule{{CIDRs: cidrs("192.0.2.0/24", "198.51.100.0/24", "2001:db8:ff::/48")}}})
	p.update(discovery{ranges: many(5000)})
	for name, address := range map[string]string{
		"outside": "203.0.113.9", "node": "10.0.58.149", "pod": "100.83.135.9", "outside6": "2001:db8::9", "pod6": "fd01:10::9",
	} {
		b.Run(name, func(b *testing.B) {
			q := Query{Namespace: "shop", IP: netip.MustParseAddr(address), Port: 443}
			b.ReportAllocs()
			for b.Loop() {
				p.Check(q)
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	p := NewPolicy(Options{})
	ranges := many(5000)
	b.ReportAllocs()
	for b.Loop() {
		p.update(discovery{ranges: ranges})
	}
}
