// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// nameserver is a real DNS server on loopback, by UDP and TCP, that answers from a zone unless a
// handler is put in its way.
type nameserver struct {
	at netip.AddrPort

	mu      sync.Mutex
	zone    map[string][]dns.RR
	handle  func(w dns.ResponseWriter, query *dns.Msg) bool
	queries []string
	tcp     int
}

// serve starts a nameserver with records in zone file syntax.
func serve(t *testing.T, records ...string) *nameserver {
	t.Helper()
	packets, listener := listen(t)
	s := &nameserver{at: packets.LocalAddr().(*net.UDPAddr).AddrPort(), zone: map[string][]dns.RR{}}
	s.add(t, records...)
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: s}, {Listener: listener, Handler: s}} {
		started, ended := make(chan struct{}), make(chan error, 1)
		server.NotifyStartedFunc = func() { close(started) }
		go func() { ended <- server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() {
			if err := server.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

// listen finds a port that is free for UDP and TCP alike.
func listen(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 50 {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, listener
		}
		if err := packets.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no port is free for UDP and TCP alike")
	return nil, nil
}

func (s *nameserver) add(t *testing.T, records ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range records {
		record, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		name := record.Header().Name
		s.zone[name] = append(s.zone[name], record)
	}
}

// ServeDNS responds like a nameserver that recurses: with the whole chain.
func (s *nameserver) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := query.Question[0]
	s.queries = append(s.queries, dns.TypeToString[q.Qtype]+" "+q.Name)
	if overTCP(w) {
		s.tcp++
	}
	if s.handle != nil && s.handle(w, query) {
		return
	}
	s.reply(w, query)
}

// reply responds from the zone.
func (s *nameserver) reply(w dns.ResponseWriter, query *dns.Msg) {
	w.WriteMsg(s.answer(query)) //nolint:errcheck // A client that is gone is not the test's matter.
}

func (s *nameserver) answer(query *dns.Msg) *dns.Msg {
	q := query.Question[0]
	reply := new(dns.Msg).SetReply(query)
	reply.RecursionAvailable = true
	name := dns.CanonicalName(q.Name)
	for range 20 {
		records, ok := s.zone[name]
		if !ok {
			reply.Rcode = dns.RcodeNameError
			break
		}
		next := ""
		for _, record := range records {
			if record.Header().Rrtype == q.Qtype {
				reply.Answer = append(reply.Answer, record)
			} else if alias, ok := record.(*dns.CNAME); ok {
				reply.Answer = append(reply.Answer, record)
				next = alias.Target
			}
		}
		if next == "" {
			break
		}
		name = next
	}
	if soa, err := dns.NewRR("example.com. 120 SOA ns.example.com. admin.example.com. 1 2 3 4 90"); err == nil {
		reply.Ns = append(reply.Ns, soa)
	}
	return reply
}

// with puts a handler in the way; it returns whether it took the query.
func (s *nameserver) with(handle func(w dns.ResponseWriter, query *dns.Msg) bool) *nameserver {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
	return s
}

func (s *nameserver) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.queries...)
}

func overTCP(w dns.ResponseWriter) bool {
	_, ok := w.RemoteAddr().(*net.TCPAddr)
	return ok
}

// resolver asks the servers, with patience: a busy machine is no reason for a test to fail.
func resolver(servers ...*nameserver) *Resolver { return waiting(10*time.Second, servers...) }

// hasty does not wait long for what never comes. It is for tests that want a timeout and nothing else: on a
// busy machine every answer may be late.
func hasty(servers ...*nameserver) *Resolver { return waiting(250*time.Millisecond, servers...) }

// dialed are the connections of told resolvers, by network and local address.
var dialed sync.Map

// told has patience, and yet loses no time: where a server is mute, the connection times out at once.
func told(servers ...*nameserver) *Resolver {
	r := resolver(servers...)
	dial := r.options.Dial
	r.options.Dial = func(ctx context.Context, network string, server netip.AddrPort) (net.Conn, error) {
		conn, err := dial(ctx, network, server)
		if err == nil {
			dialed.Store(network+conn.LocalAddr().String(), conn)
		}
		return conn, err
	}
	return r
}

// mute does not reply.
func mute(w dns.ResponseWriter, _ *dns.Msg) bool {
	if conn, ok := dialed.LoadAndDelete(w.RemoteAddr().Network() + w.RemoteAddr().String()); ok {
		_ = conn.(net.Conn).SetDeadline(time.Unix(1, 0))
	}
	return true
}

func waiting(timeout time.Duration, servers ...*nameserver) *Resolver {
	o := Options{Timeout: timeout}
	for _, s := range servers {
		o.Nameservers = append(o.Nameservers, s.at)
	}
	return New(o)
}

// look looks up A and AAAA.
func look(t *testing.T, r *Resolver, name string) Answer {
	t.Helper()
	return r.Lookup(context.Background(), name, "")
}

// at makes addresses of texts: an address, or address:port.
func at(texts ...string) []Address {
	var addresses []Address
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, Address{IP: ip})
			continue
		}
		both := netip.MustParseAddrPort(text)
		addresses = append(addresses, Address{IP: both.Addr(), Port: both.Port()})
	}
	return addresses
}
