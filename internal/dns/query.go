// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// lookup is one call of Lookup, with the bytes that it may still read.
type lookup struct {
	*Resolver

	bytesLeft atomic.Int64
	queries   atomic.Int64
}

// query queries the servers in turn until one answers, and then again without EDNS0: some servers refuse a query with
// it as malformed or by SERVFAIL, and some firewalls drop it. The error wraps errNoReply if none of them replied.
func (l *lookup) query(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	servers, err := l.nameservers.list()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoReply, err)
	}
	var silent, failed error
	var silentServers []netip.AddrPort
	for attempt := range attempts {
		for _, server := range l.silences.order(servers, name) {
			if ctx.Err() != nil || errors.Is(failed, errTooLarge) {
				break
			}
			reply, err := l.queryServer(ctx, server, newQuestion(name, kind, attempt == 0))
			switch {
			case !errors.Is(err, errNoReply):
				l.silences.recordReply(server, name)
			case ctx.Err() == nil:
				l.silences.recordSilence(server, name)
				silentServers = append(silentServers, server)
			}
			if err == nil {
				l.askRoot(ctx, silentServers)
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

// queryServer queries one server. An answer is NOERROR or NXDOMAIN.
func (l *lookup) queryServer(ctx context.Context, server netip.AddrPort, question *dns.Msg) (*dns.Msg, error) {
	reply, err := l.exchange(ctx, server, question)
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

// isLame reports whether a server that does not recurse returns a referral, which is not about the name.
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

const (
	// datagram is the EDNS0 buffer size, so that nothing is fragmented (DNS flag day 2020).
	datagram = 1232
	// buffer is for datagrams of servers that ignore it. One that fills it was truncated.
	buffer = 4096
)

var (
	// errNoReply is a server that did not reply.
	errNoReply = errors.New("no answer")
	// errTooLarge is a lookup that read more than it may.
	errTooLarge = errors.New("answers too large")
)

// newQuestion returns a message with a random ID, without cookies, DNSSEC and client subnet.
func newQuestion(name string, kind uint16, extended bool) *dns.Msg {
	question := new(dns.Msg).SetQuestion(name, kind)
	if extended {
		question.SetEdns0(datagram, false)
	}
	return question
}

// exchange queries one server by UDP, and by TCP if the answer was truncated. Where TCP fails, as behind a firewall that
// lets pass UDP alone, it returns what the truncated answer has.
func (l *lookup) exchange(ctx context.Context, server netip.AddrPort, question *dns.Msg) (*dns.Msg, error) {
	out, err := question.Pack()
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	l.queries.Add(1)
	reply, err := l.withConn(ctx, "udp", server, func(conn net.Conn) (*dns.Msg, error) {
		return l.exchangeUDP(conn, out, question)
	})
	if !errors.Is(err, errTruncated) {
		return reply, err
	}
	truncated := reply
	reply, err = l.withConn(ctx, "tcp", server, func(conn net.Conn) (*dns.Msg, error) {
		return l.exchangeTCP(conn, out, question)
	})
	switch {
	case err == nil || errors.Is(err, errTooLarge):
		return reply, err
	case truncated != nil && len(truncated.Answer) > 0:
		return truncated, nil
	default:
		return nil, fmt.Errorf("%w by UDP, and by TCP: %v", errTruncated, err) //nolint:errorlint // It is not errNoReply.
	}
}

// withConn calls talk with a new connection, from a random port, until Timeout.
func (l *lookup) withConn(
	ctx context.Context, network string, server netip.AddrPort, talk func(net.Conn) (*dns.Msg, error),
) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	conn, err := l.options.Dial(ctx, network, server)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoReply, err)
	}
	defer conn.Close() //nolint:errcheck // Nothing is lost: the answer was read or is not wanted.
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0)) // if that fails, the connection has ended anyway
	})
	defer stop()
	return talk(conn)
}

// exchangeUDP skips datagrams that do not answer the question, until the deadline.
func (l *lookup) exchangeUDP(conn net.Conn, out []byte, question *dns.Msg) (*dns.Msg, error) {
	if _, err := conn.Write(out); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoReply, err)
	}
	in := make([]byte, buffer)
	for {
		n, err := conn.Read(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoReply, err)
		}
		if !l.spend(n) {
			return nil, errTooLarge
		}
		reply, err := parse(in[:n], question)
		switch {
		case errors.Is(err, errForeign):
		case err != nil && n == len(in):
			return nil, errTruncated
		default:
			return reply, err
		}
	}
}

// exchangeTCP reads one message.
func (l *lookup) exchangeTCP(conn net.Conn, out []byte, question *dns.Msg) (*dns.Msg, error) {
	framed := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(out)), uint16(len(out)))
	if _, err := conn.Write(append(framed, out...)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(length[:]))
	if !l.spend(n) {
		return nil, errTooLarge
	}
	in := make([]byte, n)
	if _, err := io.ReadFull(conn, in); err != nil {
		return nil, err
	}
	return parse(in, question)
}

// spend counts bytes read, and reports whether they are within the limit.
func (l *lookup) spend(n int) bool { return l.bytesLeft.Add(-int64(n)) >= 0 }
