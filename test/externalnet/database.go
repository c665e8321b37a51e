// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Member is a server of a database that has a role, and accepts connections in each.
type Member struct {
	listener net.Listener
	work     sync.WaitGroup
	finish   func()

	mu             sync.Mutex // guards what follows
	role, password string
	open           map[net.Conn]bool
	received       []string
}

// Redis speaks the part of the Redis protocol that checks use: the inline commands AUTH, PING and ROLE. With secure it speaks
// TLS, and where that asks for the certificate of a client, "CERT" and its DNS name count as received.
func Redis(at, role, password string, secure *tls.Config) (*Member, error) {
	m, err := listenMember(at, role)
	if err != nil {
		return nil, err
	}
	m.password = password
	m.work.Go(func() {
		for {
			conn, err := m.listener.Accept()
			if err != nil {
				return
			}
			m.work.Go(func() { m.serveRedis(conn, secure) })
		}
	})
	return m, nil
}

// Patroni serves the health of a member as the REST API of Patroni does: 200 at /primary or at /replica, by its role, and 503
// at the other one. At /health it is 200, with the role in the body.
func Patroni(at, role string) (*Member, error) {
	m, err := listenMember(at, role)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(m.servePatroni), ReadHeaderTimeout: time.Minute}
	m.work.Go(func() { _ = server.Serve(m.listener) })
	m.finish = func() { _ = server.Close() }
	return m, nil
}

func listenMember(at, role string) (*Member, error) {
	local, err := LocalPort(netip.MustParseAddrPort(at))
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", local.String())
	if err != nil {
		return nil, err
	}
	return &Member{listener: listener, finish: func() {}, role: role, open: map[net.Conn]bool{}}, nil
}

// Set changes the role and the password; an empty password is none.
func (m *Member) Set(role, password string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.role, m.password = role, password
}

// Received returns the latest 1000 commands, or the methods and paths of requests, in order.
func (m *Member) Received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.received)
}

// Close ends its connections.
func (m *Member) Close() {
	_ = m.listener.Close()
	m.finish()
	m.mu.Lock()
	for conn := range m.open {
		_ = conn.Close()
	}
	m.mu.Unlock()
	m.work.Wait()
}

// note returns the role and the password now.
func (m *Member) note(line string) (role, password string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received = latest(m.received, line)
	return m.role, m.password
}

func (m *Member) track(conn net.Conn, isOpen bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[conn] = isOpen; !isOpen {
		delete(m.open, conn)
	}
}

func (m *Member) serveRedis(raw net.Conn, secure *tls.Config) {
	m.track(raw, true)
	defer m.track(raw, false)
	defer func() { _ = raw.Close() }()
	conn := raw
	if secure != nil {
		secured := tls.Server(raw, secure)
		if secured.HandshakeContext(context.Background()) != nil {
			_, _ = io.Copy(io.Discard, raw) // closing at once could overtake the alert
			return
		}
		for _, certificate := range secured.ConnectionState().PeerCertificates {
			m.note("CERT " + strings.Join(certificate.DNSNames, " "))
		}
		conn = secured
	}
	isKnown := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		role, password := m.note(lines.Text())
		words := append(strings.Fields(lines.Text()), "", "")
		answer := "-ERR unknown command\r\n"
		switch {
		case words[0] == "AUTH" && words[1] == password:
			isKnown, answer = true, "+OK\r\n"
		case words[0] == "AUTH":
			answer = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
		case password != "" && !isKnown:
			answer = "-NOAUTH Authentication required.\r\n"
		case words[0] == "PING":
			answer = "+PONG\r\n"
		case words[0] == "ROLE":
			answer = fmt.Sprintf("*3\r\n$%d\r\n%s\r\n:3129659\r\n*0\r\n", len(role), role)
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

func (m *Member) servePatroni(w http.ResponseWriter, r *http.Request) {
	role, _ := m.note(r.Method + " " + r.URL.Path)
	if r.URL.Path != "/health" && r.URL.Path != "/"+role {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if r.Method == http.MethodGet {
		_, _ = fmt.Fprintf(w, `{"state": "running", "role": %q, "server_version": 170004}`, role)
	}
}
