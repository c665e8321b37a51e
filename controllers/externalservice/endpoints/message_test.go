// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"net/netip"
	"testing"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestWhyANameDoesNotResolve(t *testing.T) {
	loopback := func(ip string) Address {
		return Address{IP: netip.MustParseAddr(ip), DeniedReason: egress.ReasonLoopback, DeniedDetail: "is a loopback address"}
	}
	good := Address{IP: netip.MustParseAddr("192.0.2.1")}
	for _, test := range []struct {
		reason    string
		state     resolution.State
		addresses []Address
		want      string
	}{
		{networkingv1.ReasonNXDomain, resolution.State{}, nil, "does not exist, or has no record of the type"},
		{networkingv1.ReasonNXDomain, resolution.State{NoService: true}, nil, `does not resolve: its SRV record has the target ".", which says that there is no such service`},
		{networkingv1.ReasonNXDomain, resolution.State{MissingTargets: 2}, nil, "does not resolve: 2 SRV targets do not exist, or have no address"},
		{networkingv1.ReasonStale, resolution.State{LiteralTargets: 1, Cause: "NXDomain", Kept: 1, ResolvedTime: epoch}, []Address{good},
			"does not resolve (NXDomain: 1 SRV target is an IP address instead of a name), 1 last address is kept"},
		{networkingv1.ReasonDenied, resolution.State{Cause: "Denied", Refused: 2, Kept: 1, ResolvedTime: epoch}, []Address{good, loopback("127.0.0.1"), loopback("127.0.0.2")},
			"resolves only to addresses that the egress policy refuses: 127.0.0.1 is a loopback address (Loopback), 1 last address is kept"},
		{networkingv1.ReasonDenied, resolution.State{Cause: "Denied", Refused: 1, Kept: 1}, []Address{good, loopback("127.0.0.1")},
			"resolves only to addresses that the egress policy refuses: 127.0.0.1 is a loopback address (Loopback), what it replaces is kept: 1 address"},
		{networkingv1.ReasonDenied, resolution.State{Cause: "Denied", Refused: 1}, []Address{loopback("127.0.0.1")},
			"resolves only to addresses that the egress policy refuses: 127.0.0.1 is a loopback address (Loopback)"},
		{networkingv1.ReasonDenied, resolution.State{Cause: "Denied", Kept: 2, ResolvedTime: epoch}, []Address{good, good}, "points into the cluster, 2 last addresses are kept"},
		{networkingv1.ReasonStale, resolution.State{Cause: "Denied", Failed: "A", Kept: 1, Refused: 1, ResolvedTime: epoch}, []Address{good, loopback("127.0.0.1")},
			"resolves, except for its A records (Denied: 127.0.0.1 is a loopback address (Loopback)); 1 last address is kept"},
	} {
		e := Endpoint{Name: "a", DNS: &networkingv1.DNSName{Name: "db.example.com"}, State: &test.state, Addresses: test.addresses}
		if got, want := e.ResolveMessage(test.reason), `endpoint "a": db.example.com `+test.want; got != want {
			t.Errorf("%+v:\n%s\nwant\n%s", test.state, got, want)
		}
	}
}
