// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Network connects requests to their hosts.
type Network struct {
	// Dial opens a TCP connection. It must end when ctx ends, and its error is an egress.DeniedError where the policy refuses
	// the address. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup resolves a name, and ends soon after ctx has. Nil means that hosts must be IPs.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
}

// DialUnapproved dials as if the address had no approval: an authorized query would open the API server as well. That it is not
// known yet where the cluster is says nothing about the address.
func (n Network) DialUnapproved(ctx context.Context, to egress.Query) (net.Conn, error) {
	to.Authorized, to.Held = false, false
	conn, err := n.Dial(ctx, to)
	if refusal, refused := errors.AsType[*egress.DeniedError](err); refused {
		switch refusal.Verdict.Reason {
		case egress.ReasonUnsynced, egress.ReasonPodsUnknown:
			return nil, fmt.Errorf("check %s: the ranges of the cluster have not been read yet: %w", to.IP, probe.ErrLocal)
		}
	}
	return conn, err
}

// LookupAll returns all addresses of a host.
func (n Network) LookupAll(ctx context.Context, host string) ([]netip.Addr, error) {
	if n.Lookup == nil {
		return nil, fmt.Errorf("look up %q: no resolver is configured", host)
	}
	answer := n.Lookup(ctx, host, networkingv1.RecordAddress)
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

// HostKey returns the prober's key for a host that an object has asked. Its name is the object's, what is asked, nothing, and the
// host; the first two hold no slash.
func HostKey(object types.NamespacedName, asked, host string) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name + "/" + asked + "//" + host}
}

// Group returns what counts once when this process suspects itself: all that follows the second slash of a key, such as the host.
func Group(key types.NamespacedName) string {
	parts := strings.SplitN(key.Name, "/", 3)
	return parts[len(parts)-1]
}
