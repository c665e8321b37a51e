// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"strings"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// Parts of messages that become events as well.
const (
	AddressesLeftOut = "a name has more addresses than are published"
	TargetsLeftOut   = "left out since it points into the cluster"
)

// LeftOutMessage returns which addresses of a name that resolves are not published; "" where all are.
func (e *Endpoint) LeftOutMessage() string {
	var all []string
	if n := e.State.Surplus; n > 0 {
		all = append(all, fmt.Sprintf("%s: %d of at least %d are published", AddressesLeftOut, len(e.Addresses), len(e.Addresses)+n))
	}
	denied := 0
	for i := range e.Addresses {
		if e.Addresses[i].DeniedReason != "" {
			denied++
		}
	}
	if denied > 0 {
		all = append(all, fmt.Sprintf("the egress policy refuses %d of %s", denied, events.Plural(len(e.Addresses), "address", "addresses")))
	}
	if n := e.State.UnusedTargets; n > 0 {
		all = append(all, fmt.Sprintf("%s: %d of %d SRV targets of the lowest priority are used, those with the greatest weight", AddressesLeftOut, dns.MaxTargets, dns.MaxTargets+n))
	}
	if e.State.Partial {
		all = append(all, "the answer is not complete: it was truncated, and the DNS server cannot be reached by TCP on port 53, or an SRV target does not resolve; what it lacks is kept")
	}
	if n := e.State.Denied; n > 0 {
		all = append(all, fmt.Sprintf("%s, each %s", events.Plural(n, "SRV target is refused", "SRV targets are refused"), TargetsLeftOut))
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("endpoint %q: %s: %s", e.Name, e.DNS.Name, strings.Join(all, ", "))
}

// ResolveMessage returns why a name does not resolve. It quotes nothing that a nameserver sent.
func (e *Endpoint) ResolveMessage(reason string) string {
	name := fmt.Sprintf("endpoint %q: %s ", e.Name, e.DNS.Name)
	switch reason {
	case "":
		return name + "was not looked up yet"
	case networkingv1.ReasonStale:
		kept := events.Plural(e.State.Kept, "last address is", "last addresses are")
		if e.State.Failed != "" {
			return name + fmt.Sprintf("resolves, except for its %s records (%s), of which %s kept", e.State.Failed, e.State.Cause, kept)
		}
		if e.State.ResolvedTime.IsZero() {
			return name + fmt.Sprintf("has never resolved (%s): what it replaces is kept, %s", e.State.Cause,
				events.Plural(e.State.Kept, "address", "addresses"))
		}
		return name + fmt.Sprintf("does not resolve (%s), %s kept", e.State.Cause, kept)
	case networkingv1.ReasonDenied:
		if len(e.Addresses) > 0 && e.State.Cause != string(dns.Denied) {
			return name + "resolves only to addresses that the egress policy refuses"
		}
		return name + "points into the cluster"
	case networkingv1.ReasonNXDomain:
		return name + "does not exist, or has no record of the type"
	case networkingv1.ReasonServFail:
		return name + "does not resolve: the DNS server failed"
	case networkingv1.ReasonTruncated:
		return name + "does not resolve: the answer does not fit into a datagram, and the DNS server cannot be reached by TCP on port 53"
	case networkingv1.ReasonAliasLoop:
		return name + fmt.Sprintf("does not resolve: its aliases form a loop, or are more than %d", dns.MaxAliases)
	case networkingv1.ReasonTimeout:
		return name + "does not resolve: no DNS server answered in time"
	}
	return name + "does not resolve"
}
