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
	"time"

	"github.com/miekg/dns"
)

const (
	// datagram is the size that servers are told to keep to, so that nothing is fragmented on the
	// way (DNS flag day 2020).
	datagram = 1232
	// buffer takes datagrams of servers that do not care. One that fills it was cut.
	buffer = 4096
)

var (
	// errNoReply is a server that did not answer.
	errNoReply = errors.New("no answer")
	// errTooLarge is a lookup that read more than it may.
	errTooLarge = errors.New("answers too large")
)

// newQuestion makes a message with a random ID. Cookies, DNSSEC and client subnets are not asked
// for.
func newQuestion(name string, kind uint16, extended bool) *dns.Msg {
	question := new(dns.Msg).SetQuestion(name, kind)
	if extended {
		question.SetEdns0(datagram, false)
	}
	return question
}

// exchange asks one server, by UDP, and by TCP where the answer did not fit.
func (l *lookup) exchange(ctx context.Context, server netip.AddrPort, question *dns.Msg) (*dns.Msg, error) {
	out, err := question.Pack()
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	reply, err := l.withConn(ctx, "udp", server, func(conn net.Conn) (*dns.Msg, error) {
		return l.exchangeUDP(conn, out, question)
	})
	if !errors.Is(err, errTruncated) {
		return reply, err
	}
	reply, err = l.withConn(ctx, "tcp", server, func(conn net.Conn) (*dns.Msg, error) {
		return l.exchangeTCP(conn, out, question)
	})
	if err != nil {
		// The server did answer by UDP: it is not silent, whatever TCP says.
		return nil, fmt.Errorf("truncated by UDP, and by TCP: %v", err) //nolint:errorlint // It must not count as silence.
	}
	return reply, nil
}

// withConn talks on a new connection, from a port that the kernel chooses at random, until Timeout.
func (l *lookup) withConn(ctx context.Context, network string, server netip.AddrPort, talk func(net.Conn) (*dns.Msg, error)) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	conn, err := l.Dial(ctx, network, server)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoReply, err)
	}
	defer conn.Close() //nolint:errcheck // Nothing is lost: the answer was read or is not wanted.
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0)) // where that fails the connection is broken, which ends it as well
	})
	defer stop()
	return talk(conn)
}

// exchangeUDP passes over datagrams that do not answer the question, until the deadline.
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

// exchangeTCP reads one message. A foreign one on a connection of our own is an error of the server.
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

// spend takes from what the lookup may read, and says whether that was enough.
func (l *lookup) spend(n int) bool { return l.bytesLeft.Add(-int64(n)) >= 0 }
