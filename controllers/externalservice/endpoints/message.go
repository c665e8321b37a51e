// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"strings"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
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
	if denied := e.denied(); denied > 0 {
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
	all = append(all, e.targetFaults()...)
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("endpoint %q: %s: %s", e.Name, e.DNS.Name, strings.Join(all, ", "))
}

// targetFaults returns what is wrong with the targets of SRV records that have no address.
func (e *Endpoint) targetFaults() []string {
	var all []string
	if e.State.NoService {
		all = append(all, `its SRV record has the target ".", which says that there is no such service`)
	}
	if n := e.State.MissingTargets; n > 0 {
		all = append(all, events.Plural(n, "SRV target does not exist, or has no address", "SRV targets do not exist, or have no address"))
	}
	if n := e.State.LiteralTargets; n > 0 {
		all = append(all, events.Plural(n, "SRV target is an IP address instead of a name", "SRV targets are IP addresses instead of names"))
	}
	return all
}

// ResolveMessage returns why a name does not resolve. It quotes nothing that a nameserver sent, except for addresses.
func (e *Endpoint) ResolveMessage(reason string) string {
	name := fmt.Sprintf("endpoint %q: %s ", e.Name, e.DNS.Name)
	switch reason {
	case "":
		return name + "was not looked up yet"
	case networkingv1.ReasonStale:
		if e.State.Failed != "" {
			cause := e.State.Cause
			if cause == string(dns.Denied) {
				cause += e.refusedMessage()
			}
			return name + fmt.Sprintf("resolves, except for its %s records (%s); %s kept", e.State.Failed, cause,
				events.Plural(e.State.Kept, "last address is", "last addresses are"))
		}
		if e.State.ResolvedTime.IsZero() {
			return name + fmt.Sprintf("has never resolved (%s): what it replaces is kept, %s", e.causeMessage(),
				events.Plural(e.State.Kept, "address", "addresses"))
		}
		return name + fmt.Sprintf("does not resolve (%s)%s", e.causeMessage(), e.keptMessage(e.State.Kept))
	case networkingv1.ReasonDenied:
		kept := e.keptMessage(min(e.State.Kept, len(e.Addresses)-e.denied()))
		if e.State.Refused > 0 || len(e.Addresses) > 0 && e.State.Cause != string(dns.Denied) {
			return name + "resolves only to addresses that the egress policy refuses" + e.refusedMessage() + kept
		}
		return name + "points into the cluster" + kept
	case networkingv1.ReasonNXDomain:
		if faults := e.targetFaults(); len(faults) > 0 {
			return name + "does not resolve: " + strings.Join(faults, ", ")
		}
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

// causeMessage returns how the last lookup ended.
func (e *Endpoint) causeMessage() string {
	return strings.Join(append([]string{e.State.Cause}, e.targetFaults()...), ": ")
}

// keptMessage returns how many last addresses are kept, or "".
func (e *Endpoint) keptMessage(n int) string {
	switch {
	case n <= 0:
		return ""
	case e.State.ResolvedTime.IsZero():
		return fmt.Sprintf(", what it replaces is kept: %s", events.Plural(n, "address", "addresses"))
	}
	return fmt.Sprintf(", %s kept", events.Plural(n, "last address is", "last addresses are"))
}

// denied returns how many addresses the egress policy denies.
func (e *Endpoint) denied() int {
	n := 0
	for i := range e.Addresses {
		if e.Addresses[i].DeniedReason != "" {
			n++
		}
	}
	return n
}

// refusedMessage returns, after a colon, an address for each reason of the egress policy, or "".
func (e *Endpoint) refusedMessage() string {
	var all []string
	told := map[egress.Reason]bool{}
	for i := range e.Addresses {
		if a := &e.Addresses[i]; a.DeniedReason != "" && !told[a.DeniedReason] {
			told[a.DeniedReason] = true
			all = append(all, fmt.Sprintf("%s %s (%s)", a.IP, a.DeniedDetail, a.DeniedReason))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + events.Summarize(all)
}
