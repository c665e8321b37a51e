// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// stand is a range outside and the part of 127/8 that replaces it.
type stand struct{ outside, local netip.Prefix }

// stands are in order: the first that holds an address wins. Where the local part is the smaller
// one, only the low bits are kept: good enough for a canary, which must see no connection at all.
var stands = []stand{
	// Where servers are.
	between("192.0.2.0/24", "127.77.2.0/24"),
	between("198.51.100.0/24", "127.77.100.0/24"),
	between("203.0.113.0/24", "127.77.113.0/24"),
	between("2001:db8::/120", "127.77.6.0/24"),
	between("2001:db8::/32", "127.78.0.0/16"),
	between("198.18.0.0/15", "127.100.0.0/15"),
	// Where a cluster may be.
	between("10.0.0.0/8", "127.110.0.0/16"),
	between("192.168.0.0/16", "127.111.0.0/16"),
	between("172.16.0.0/12", "127.128.0.0/12"),
	between("fc00::/7", "127.68.0.0/16"),
	// Addresses that must never be connected to.
	between("127.0.0.0/8", "127.66.0.0/16"),
	between("0.0.0.0/8", "127.72.0.0/16"),
	between("169.254.0.0/16", "127.169.0.0/16"),
	between("100.64.0.0/10", "127.192.0.0/10"),
	between("224.0.0.0/3", "127.71.0.0/16"), // multicast, and 240/4
	between("::/127", "127.67.0.0/24"),
	between("fe80::/10", "127.67.128.0/17"),
	between("ff00::/8", "127.73.0.0/16"),
	between("64:ff9b::/96", "127.69.0.0/16"),
	between("2002::/16", "127.70.0.0/16"),
}

func between(outside, local string) stand {
	return stand{netip.MustParsePrefix(outside), netip.MustParsePrefix(local)}
}

// Local returns the loopback address that replaces an address outside. An address without one is an error: it might be in use.
func Local(outside netip.Addr) (netip.Addr, error) {
	outside = outside.Unmap().WithZone("")
	for _, s := range stands {
		if !s.outside.Contains(outside) {
			continue
		}
		bytes := outside.AsSlice()
		low := binary.BigEndian.Uint32(bytes[len(bytes)-4:])
		mask := uint32(1)<<min(outside.BitLen()-s.outside.Bits(), 32-s.local.Bits()) - 1
		base := s.local.Addr().As4()
		var local [4]byte
		binary.BigEndian.PutUint32(local[:], binary.BigEndian.Uint32(base[:])|low&mask)
		return netip.AddrFrom4(local), nil
	}
	return netip.Addr{}, fmt.Errorf("outside address %s: no loopback address replaces it; use 192.0.2.0/24 or another range of test/externalnet", outside)
}

// LocalPort is Local for an address and a port, which stays the same.
func LocalPort(outside netip.AddrPort) (netip.AddrPort, error) {
	local, err := Local(outside.Addr())
	return netip.AddrPortFrom(local, outside.Port()), err
}

// Dial connects to the server that stands at an address outside, and to nothing else.
func Dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
		network = "tcp4"
	case "udp", "udp4", "udp6":
		network = "udp4"
	default:
		return nil, fmt.Errorf("dial %s: %w", to, net.UnknownNetworkError(network))
	}
	local, err := LocalPort(to)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", to, err)
	}
	dialer := net.Dialer{KeepAlive: -1} // as the operator does by itself
	return dialer.DialContext(ctx, network, local.String())
}
