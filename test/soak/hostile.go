// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// hostileConnections is how many there are in all.
	hostileConnections = 1_000
	// hostileFor is how long they stay.
	hostileFor = time.Minute
)

// hostile is a form of a connection that keeps a webhook server waiting.
type hostile struct {
	name  string
	plain bool   // it never ends the handshake
	send  string // at once
	drip  string // every hostilePause
	deaf  bool   // it reads no answer
}

// hostilePause is how long a connection rests between two drips.
const hostilePause = 200 * time.Millisecond

// hostiles are the forms, which take turns.
func hostiles() []hostile {
	head := func(path, rest string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + rest
	}
	const validate = "/validate-networking-fairlead-dev-v1-externalservice"
	unchanged := `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"networking.fairlead.dev/v1","objects":[` +
		`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":"` + strings.Repeat("a", 40_000) + `"}}]}}`
	return []hostile{
		{name: "half a body", send: head("/convert", "Content-Length: 5000\r\n\r\n{")},
		{name: "half a body", send: head(validate, "Content-Length: 5000\r\n\r\n{")},
		{name: "a body in drops", send: head("/convert", "Content-Length: 5000\r\n\r\n{"), drip: " "},
		{name: "chunks in drops", send: head(validate, "Transfer-Encoding: chunked\r\n\r\n"), drip: "1\r\n \r\n"},
		{name: "half of a large body", send: head("/convert", "Content-Length: 2000000\r\n\r\n"+strings.Repeat(" ", 300_000))},
		{name: "headers in drops", send: "POST /convert HTTP/1.1\r\n", drip: "A: b\r\n"},
		{name: "a handshake only"},
		{name: "half a handshake", plain: true, send: "\x16\x03\x01\x02\x00\x01\x00"},
		{name: "nothing", plain: true},
		{name: "answers that are not read", deaf: true,
			send: head("/convert", "Content-Length: "+strconv.Itoa(len(unchanged))+"\r\n\r\n"+unchanged),
			drip: head("/convert", "Content-Length: "+strconv.Itoa(len(unchanged))+"\r\n\r\n"+unchanged)},
	}
}

// sendHostile keeps hostile connections open to all replicas beside the load, and opens another one for each that
// is closed.
func sendHostile(ctx context.Context, a *attempt) error {
	attack, stop := context.WithCancel(ctx)
	defer stop()
	var (
		all    sync.WaitGroup
		opened atomic.Int64
		forms  = hostiles()
		there  = a.running()
	)
	for i := range hostileConnections {
		form, address := forms[i%len(forms)], there[i%len(there)].Webhook
		all.Go(func() {
			for attack.Err() == nil {
				opened.Add(1)
				form.connect(attack, address)
				_ = pause(attack, hostilePause) // which ends with the attack
			}
		})
	}
	a.printf("%d hostile connections are open", hostileConnections)
	err := pause(ctx, hostileFor)
	if err == nil {
		if unready := a.ready(replicas); unready != nil {
			a.wrong("beside hostile connections, %v", unready)
		}
	}
	stop()
	all.Wait()
	a.note("%d hostile connections in %d forms stayed for %s, and were opened %d times", hostileConnections, len(forms), hostileFor, opened.Load())
	return err
}

// connect makes one connection, and keeps it until it is closed by the server, or the attack ends.
func (h hostile) connect(ctx context.Context, address string) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if !h.plain {
		secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // an attacker does not ask who answers
		if secured.HandshakeContext(ctx) != nil {
			return
		}
		conn = secured
	}
	closed := make(chan struct{})
	if !h.deaf {
		go func() {
			defer close(closed)
			_, _ = io.Copy(io.Discard, conn)
		}()
	}
	for text := h.send; ; text = h.drip {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		select {
		case <-closed:
			return
		case <-ctx.Done():
			return
		case <-time.After(hostilePause):
		}
	}
}
