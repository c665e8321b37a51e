// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// dial asks the policy first as if the address had no approval, to know why it is refused: an
// authorized query would open the API server as well.
func (c *Checks) dial(ctx context.Context, to egress.Query) (net.Conn, error) {
	asked := to
	asked.Authorized, asked.Held = false, false
	conn, err := c.Dial(ctx, asked)
	refusal, refused := errors.AsType[*egress.DeniedError](err)
	if !refused {
		return conn, err
	}
	switch refusal.Verdict.Reason {
	case egress.ReasonUnsynced, egress.ReasonPodsUnknown:
		return nil, fmt.Errorf("check %s: it is not known yet where the cluster is: %w", to.IP, probe.ErrLocal)
	case egress.ReasonPod, egress.ReasonNode, egress.ReasonClusterCIDR:
		if to.Authorized {
			to.OwnPod = true
			return c.Dial(ctx, to)
		}
	}
	return nil, err
}

// lookup returns all addresses of a host.
func (c *Checks) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if c.Lookup == nil {
		return nil, fmt.Errorf("look up %q: no resolver is configured", host)
	}
	answer := c.Lookup(ctx, host, networkingv1.RecordAddress)
	if outcome := answer.Outcome(); outcome != dns.Resolved {
		return nil, fmt.Errorf("look up %q: no address: %w", host, answer.Err)
	}
	var all []netip.Addr
	// In turns, since no more than the first few are asked.
	for i := range max(len(answer.IPv4.Addresses), len(answer.IPv6.Addresses)) {
		for _, part := range []dns.FamilyAnswer{answer.IPv4, answer.IPv6} {
			if i < len(part.Addresses) {
				all = append(all, part.Addresses[i].IP)
			}
		}
	}
	return all, nil
}
