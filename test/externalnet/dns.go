// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// DNS is a recursive nameserver with a zone of its own, over UDP and TCP at one port of 127.0.0.1.
// The zone may change at any time.
type DNS struct {
	zone

	addr netip.AddrPort
	queryCounter

	switching sync.Mutex // held while the sockets change; guards what follows
	running   *sockets
}

// sockets are the two servers while they are up.
type sockets struct {
	servers []*dns.Server
	cancel  context.CancelFunc
	work    sync.WaitGroup
}

// tries bounds how often a port is looked for that is free for UDP and TCP.
const tries = 20

// ListenDNS starts a nameserver at a free port.
func ListenDNS() (*DNS, error) {
	d := &DNS{zone: zone{scripts: map[string]map[uint16]*script{}}, queryCounter: queryCounter{counts: map[queryKey]int{}}}
	var err error
	for range tries {
		if err = d.up(netip.MustParseAddrPort("127.0.0.1:0")); err == nil {
			return d, nil
		}
	}
	return nil, err
}

// Addr is where the nameserver listens. It stays the same after Down and Up.
func (d *DNS) Addr() netip.AddrPort { return d.addr }

// Down closes the sockets: clients are refused.
func (d *DNS) Down() error {
	d.switching.Lock()
	defer d.switching.Unlock()
	running := d.running
	d.running = nil
	if running == nil {
		return nil
	}
	return running.close()
}

// Up listens again after Down.
func (d *DNS) Up() error { return d.up(d.addr) }

// Close ends the nameserver and returns when its goroutines have ended.
func (d *DNS) Close() error { return d.Down() }

func (d *DNS) up(at netip.AddrPort) error {
	d.switching.Lock()
	defer d.switching.Unlock()
	if d.running != nil {
		return nil
	}
	listener, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return fmt.Errorf("nameserver: %w", err)
	}
	addr, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return errors.Join(fmt.Errorf("nameserver: %w", err), listener.Close())
	}
	packets, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return errors.Join(fmt.Errorf("nameserver: %w", err), listener.Close())
	}
	if !d.addr.IsValid() { // it is read without the lock, once it is set
		d.addr = addr
	}
	ctx, cancel := context.WithCancel(context.Background()) // ends delays; miekg's handlers get none
	s := &sockets{cancel: cancel}
	for _, server := range []*dns.Server{
		{PacketConn: packets, Handler: d.handler(ctx, "udp")},
		{Listener: listener, Handler: d.handler(ctx, "tcp")},
	} {
		started := make(chan struct{})
		server.NotifyStartedFunc = sync.OnceFunc(func() { close(started) })
		s.servers = append(s.servers, server)
		s.work.Go(func() { _ = server.ActivateAndServe() })
		<-started
	}
	d.running = s
	return nil
}

func (s *sockets) close() error {
	s.cancel()
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Shutdown())
	}
	s.work.Wait()
	return errors.Join(errs...)
}

func (d *DNS) handler(ctx context.Context, transport string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, asked *dns.Msg) {
		if len(asked.Question) != 1 {
			return
		}
		question := asked.Question[0]
		d.asked(Query{
			Time: time.Now(), Name: strings.TrimSuffix(strings.ToLower(question.Name), "."),
			Type: dns.TypeToString[question.Qtype], Transport: transport,
		})
		reply, records := d.answer(question.Name, question.Qtype)
		if !pause(ctx, nil, reply.Delay) || reply.Fault == Silent {
			return
		}
		if reply.Fault == NotDNS {
			_, _ = w.Write([]byte("\x00\x01no message"))
			return
		}
		// A client that went away is no news.
		_ = w.WriteMsg(message(asked, reply, records, transport))
	}
}

// codes of faults that are answers.
func code(fault DNSFault) int {
	switch fault {
	case ServFail:
		return dns.RcodeServerFailure
	case NXDomain:
		return dns.RcodeNameError
	case Refused:
		return dns.RcodeRefused
	default:
		return dns.RcodeSuccess
	}
}

func message(asked *dns.Msg, reply Reply, records []dns.RR, transport string) *dns.Msg {
	m := new(dns.Msg).SetRcode(asked, code(reply.Fault))
	m.RecursionAvailable = true
	if m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError {
		m.Answer = records
	}
	switch reply.Fault {
	case NoData:
		m.Answer = nil
	case WrongID:
		m.Id++
	case WrongQuestion:
		m.Question = []dns.Question{{Name: "other.invalid.", Qtype: asked.Question[0].Qtype, Qclass: dns.ClassINET}}
	}
	if transport != "udp" {
		return m
	}
	size := dns.MinMsgSize
	if edns := asked.IsEdns0(); edns != nil {
		size = max(size, int(edns.UDPSize()))
		m.SetEdns0(edns.UDPSize(), false)
	}
	m.Truncate(size)
	if reply.Fault == Truncated {
		m.Truncated, m.Answer = true, nil
	}
	return m
}
