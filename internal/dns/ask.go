// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/miekg/dns"
)

// lookup is one call of Lookup, with what it may still read.
type lookup struct {
	*Resolver

	bytesLeft atomic.Int64
}

// query puts a question to the servers in turn until one answers it. The error wraps errSilent where
// none of them said anything.
func (l *lookup) query(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	servers, err := l.nameservers.list()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoReply, err)
	}
	var silent, failed error
	for range l.Attempts {
		for _, server := range l.health.order(servers) {
			if ctx.Err() != nil || errors.Is(failed, errTooLarge) {
				break
			}
			reply, err := l.queryServer(ctx, server, name, kind)
			if ctx.Err() == nil {
				l.health.record(server, !errors.Is(err, errNoReply))
			}
			if err == nil {
				return reply, nil
			}
			err = fmt.Errorf("%s %q at %s: %w", dns.TypeToString[kind], name, server, err)
			if errors.Is(err, errNoReply) {
				silent = err
			} else {
				failed = err
			}
		}
	}
	switch {
	case failed != nil:
		return nil, failed
	case silent != nil:
		return nil, silent
	default:
		return nil, fmt.Errorf("%w: %w", errNoReply, ctx.Err())
	}
}

// queryServer puts a question to one server; an answer is NOERROR or NXDOMAIN. A server that does
// not know EDNS0 is asked without it.
func (l *lookup) queryServer(ctx context.Context, server netip.AddrPort, name string, kind uint16) (*dns.Msg, error) {
	reply, err := l.exchange(ctx, server, newQuestion(name, kind, true))
	if err == nil && (reply.Rcode == dns.RcodeFormatError || reply.Rcode == dns.RcodeNotImplemented || reply.Rcode == dns.RcodeBadVers) {
		reply, err = l.exchange(ctx, server, newQuestion(name, kind, false))
		if errors.Is(err, errNoReply) {
			err = errors.New("format error, and no answer to the question without EDNS0")
		}
	}
	switch {
	case err != nil:
		return nil, err
	case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
		return nil, fmt.Errorf("code %d", reply.Rcode)
	case isLame(reply):
		return nil, errors.New("refers to other servers instead of answering")
	}
	return reply, nil
}

// isLame says whether a server that does not recurse points elsewhere instead of answering: that
// says nothing about the name.
func isLame(reply *dns.Msg) bool {
	if reply.Rcode != dns.RcodeSuccess || reply.Authoritative || reply.RecursionAvailable || len(reply.Answer) > 0 {
		return false
	}
	referral := false
	for _, record := range reply.Ns {
		switch record.Header().Rrtype {
		case dns.TypeSOA:
			return false
		case dns.TypeNS:
			referral = true
		}
	}
	return referral
}
