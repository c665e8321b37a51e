// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import "net/netip"

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	reserved4   = netip.MustParsePrefix("240.0.0.0/4")
	compatible  = netip.MustParsePrefix("::/96")           // RFC 4291, section 2.5.5.1
	translated  = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	teredo      = netip.MustParsePrefix("2001::/32")       // RFC 4380
	sixToFour   = netip.MustParsePrefix("2002::/16")       // RFC 3056
	nat64       = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	nat64Local  = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	siteLocal   = netip.MustParsePrefix("fec0::/10")       // RFC 3879
	discarded   = netip.MustParsePrefix("100::/64")        // RFC 6666

	// sharedAddresses is the range that clouds assign to pods where private addresses are scarce (RFC 6598).
	sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")
)

// metadata is the metadata services that are not link-local, and what clouds serve with them.
var metadata = newRangeSet([]Range{
	{netip.MustParsePrefix("fd00:ec2::/32"), ReasonMetadata},          // AWS: metadata, DNS, time, pod identity
	{netip.MustParsePrefix("fd20:ce::254/128"), ReasonMetadata},       // Google Cloud
	{netip.MustParsePrefix("168.63.129.16/32"), ReasonMetadata},       // Azure's WireServer
	{netip.MustParsePrefix("100.100.100.200/32"), ReasonMetadata},     // Alibaba Cloud
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), ReasonMetadata}, // Oracle Cloud
	{netip.MustParsePrefix("192.0.0.192/32"), ReasonMetadata},         // Oracle Cloud, classic
	{netip.MustParsePrefix("fd00:42::42/128"), ReasonMetadata},        // Scaleway
})

// alwaysDenied returns why no configuration allows the address, or "".
func alwaysDenied(ip netip.Addr) Reason {
	switch {
	case !ip.IsValid():
		return ReasonInvalid
	case ip.Zone() != "":
		return ReasonZone
	case ip.IsUnspecified(), thisNetwork.Contains(ip):
		return ReasonUnspecified
	case ip.IsLoopback():
		return ReasonLoopback
	case ip.IsLinkLocalUnicast():
		return ReasonLinkLocal
	case ip.IsMulticast():
		return ReasonMulticast
	case reserved4.Contains(ip):
		return ReasonReserved
	case compatible.Contains(ip), translated.Contains(ip), teredo.Contains(ip), isISATAP(ip):
		return ReasonTunnel
	case siteLocal.Contains(ip), discarded.Contains(ip):
		return ReasonReserved
	}
	return ""
}

// isISATAP reports whether the interface identifier of an address contains an IPv4 address that a router may tunnel
// to (RFC 5214, section 6.1).
func isISATAP(ip netip.Addr) bool {
	if !ip.Is6() || ip.Is4In6() {
		return false
	}
	b := ip.As16()
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// addressForms are an address, and the IPv4 addresses that are embedded in it.
type addressForms struct {
	all [5]netip.Addr
	n   int
}

func (f *addressForms) add(ip netip.Addr) {
	f.all[f.n] = ip
	f.n++
}

func (f *addressForms) list() []netip.Addr { return f.all[:f.n] }

// isDestination reports whether packets arrive at the form of this index: the embedded ones, or else the address.
func (f *addressForms) isDestination(i int) bool { return i > 0 || f.n == 1 }

// formsOf returns the forms of an address.
func formsOf(ip netip.Addr) addressForms {
	var f addressForms
	ip = ip.Unmap()
	f.add(ip)
	if !ip.Is6() || ip.Zone() != "" {
		return f
	}
	b := ip.As16()
	at := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	switch {
	case sixToFour.Contains(ip):
		f.add(at(2, 3, 4, 5))
	case nat64.Contains(ip):
		f.add(at(12, 13, 14, 15))
	case nat64Local.Contains(ip):
		// A network chooses the length of its prefix, and with it where the IPv4 address is. All places count.
		// What begins with 0 is padding: no translator accepts it.
		for _, ip := range [4]netip.Addr{at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), at(12, 13, 14, 15)} {
			if !thisNetwork.Contains(ip) {
				f.add(ip)
			}
		}
		if f.n == 1 {
			f.add(netip.IPv4Unspecified())
		}
	}
	return f
}
