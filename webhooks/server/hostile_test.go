// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/pauses/pausetest"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// readReview reads a body and tells its length, as much as is asked for by the header of the body: an answer
// of "long" is longer than all buffers on the way.
func readReview(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		review.Refuse(http.StatusBadRequest, "%s", err).Respond(w)
		return
	}
	if bytes.HasPrefix(body, []byte("long")) {
		_, _ = w.Write(make([]byte, 8<<20))
		return
	}
	_, _ = fmt.Fprint(w, len(body))
}

// attack is a form of a connection that keeps the server waiting.
type attack struct {
	plain bool   // it never begins the handshake
	send  string // at once
	drip  string // again and again, every 50 ms
	large bool   // it takes memory that is scarce, and not connections
}

func (r *running) attacks() map[string]attack {
	post := func(path, rest string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + rest
	}
	return map[string]attack{
		"nothing sent":             {plain: true},
		"half a handshake":         {plain: true, send: "\x16\x03\x01\x02\x00\x01\x00"},
		"a handshake only":         {},
		"headers without end":      {send: "POST /review HTTP/1.1\r\n", drip: "A: b\r\n"},
		"half a body":              {send: post("/review", "Content-Length: 5000\r\n\r\n{")},
		"a body in drops":          {send: post("/review", "Content-Length: 5000\r\n\r\n{"), drip: " "},
		"chunks in drops":          {send: post("/review", "Transfer-Encoding: chunked\r\n\r\n"), drip: "1\r\n \r\n"},
		"half of a large body":     {send: post("/review", "Content-Length: 2000000\r\n\r\n"+strings.Repeat(" ", 200_000)), large: true},
		"half of large chunks":     {send: post("/review", "Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("3e8\r\n"+strings.Repeat(" ", 1000)+"\r\n", 200)), large: true},
		"an answer that none read": {send: post("/review", "Content-Length: 4\r\n\r\nlong")},
		"waiting for 100":          {send: post("/review", "Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n")},
		"HTTP/2 not negotiated":    {send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		"an unregistered path":     {send: post("/nothing", "Content-Length: 5000\r\n\r\n{")},
		"the path of the server":   {send: post(selfPath, "Content-Length: 5000\r\n\r\n{")},
	}
}

// besiege keeps n connections of a form open, and opens another one for each that is closed, until the
// test ends. It returns when all have been there once.
func (r *running) besiege(t *testing.T, n int, a attack) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all, there sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for range n {
		there.Add(1)
		all.Go(func() {
			once := sync.OnceFunc(there.Done)
			defer once()
			for ctx.Err() == nil {
				r.siege(ctx, a, once)
			}
		})
	}
	there.Wait()
}

func (r *running) siege(ctx context.Context, a attack, there func()) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", r.Addr().String())
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return
	}
	if !a.plain {
		secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		if secured.HandshakeContext(ctx) != nil {
			return
		}
		conn = secured
	}
	there() // what follows may wait for a turn
	if _, err := io.WriteString(conn, a.send); err != nil {
		return
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := io.WriteString(conn, a.drip); err != nil || closed(conn, a) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// closed reports whether the server has hung up. An answer is not read, which would be polite.
func closed(conn net.Conn, a attack) bool {
	if strings.HasSuffix(a.send, "long") {
		return false
	}
	if conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return true
	}
	_, err := conn.Read(make([]byte, 1))
	timeout, ok := err.(net.Error) //nolint:errorlint // as it comes from the connection
	return err != nil && (!ok || !timeout.Timeout())
}

// timely wants good requests of some sizes answered, each on a connection of its own, and each soon.
func (r *running) timely(t *testing.T, paths ...string) {
	t.Helper()
	var slowest time.Duration
	for _, size := range []int{2_000, 900_000} {
		for _, path := range paths {
			pausetest.Retry(t, func() error {
				took, err := r.good(path, size)
				slowest = max(slowest, took)
				if err == nil && took > tolerable {
					err = fmt.Errorf("a good request took %s", took)
				}
				return err
			})
		}
	}
	t.Logf("the slowest good request took %s", slowest)
}

func (r *running) good(path string, size int) (took time.Duration, err error) {
	client := r.client()
	defer client.CloseIdleConnections()
	start := time.Now()
	answer, err := client.Post(r.url(path), "application/json", bytes.NewReader(make([]byte, size)))
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil || string(body) != fmt.Sprint(size) {
		return 0, errors.Join(err, fmt.Errorf("%s with %d bytes is answered %s %.200s", path, size, answer.Status, body))
	}
	return time.Since(start), nil
}

// tolerable is the second or two that hostile connections may cost a good request, and as much again for a
// busy machine.
const tolerable = 5 * time.Second

// The bounds are small, so that few connections are as many as a thousand are for the usual ones.
func TestConnectionsThatKeepTheServerWaitingDelayNoRequest(t *testing.T) {
	for name, a := range (&running{}).attacks() {
		t.Run(name, func(t *testing.T) {
			connections := 24
			if a.large {
				connections = 100
			}
			r := start(t, func(o *Options) {
				o.MaxInFlight, o.MaxConnections, o.Memory, o.Logger = 2, connections, 24<<20, o.Logger.V(9)
			}, func(s *Server) {
				s.Register("/review", http.HandlerFunc(readReview))
				s.Register("/other", http.HandlerFunc(readReview))
			})
			r.waitReady(t)
			r.besiege(t, 40, a)
			r.timely(t, "/review", "/other")
			r.waitReady(t)
		})
	}
}

func TestABodyHasAPace(t *testing.T) {
	r := start(t, nil, func(s *Server) { s.Register("/review", http.HandlerFunc(readReview)) })
	r.waitReady(t)
	pausetest.Retry(t, r.tooSlow)
}

// tooSlow sends a body in drops, and wants it refused in time. The request is written and the response is read
// at the same time: a client that writes to a connection which the server has closed must still see why.
func (r *running) tooSlow() (err error) {
	began := time.Now()
	conn, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	over := make(chan struct{})
	var writing sync.WaitGroup
	defer func() {
		close(over)
		err = errors.Join(err, conn.Close())
		writing.Wait()
	}()
	if err := conn.SetReadDeadline(began.Add(slack + 2*tolerable)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "POST /review HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{"); err != nil {
		return err
	}
	writing.Go(func() {
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for {
			if _, err := io.WriteString(conn, " "); err != nil {
				return // the server has closed the connection
			}
			select {
			case <-over:
				return
			case <-pace.C:
			}
		}
	})
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || !strings.Contains(string(body), "too slowly") {
		return errors.Join(err, fmt.Errorf("the response is %s %s", response.Status, body))
	}
	if took := time.Since(began); took > slack+tolerable {
		return fmt.Errorf("the request was read for %s", took)
	}
	return nil
}

// The time in which the process itself is stopped is not held against those who are sending meanwhile.
func TestABodyIsReadAfterAPauseOfTheProcess(t *testing.T) {
	begun := make(chan struct{})
	r := start(t, nil, func(s *Server) {
		s.Register("/review", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.CopyN(io.Discard, r.Body, 1)
			close(begun)
			if _, rest := io.Copy(io.Discard, r.Body); err != nil || rest != nil {
				http.Error(w, fmt.Sprint(err, rest), http.StatusBadRequest)
			}
		}))
	})
	r.waitReady(t)
	conn, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	const size = 300_000 // so that a second deadline is set on the way
	if _, err := fmt.Fprintf(conn, "POST /review HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n{", size); err != nil {
		t.Fatal(err)
	}
	<-begun
	stop := fmt.Sprintf("kill -STOP $PPID; sleep %d; kill -CONT $PPID", int(slack.Seconds())+1)
	if said, err := exec.Command("sh", "-c", stop).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	<-time.After(100 * time.Millisecond) // the deadline would have ended the request
	if _, err := conn.Write(make([]byte, size-1)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s %s %v", response.Status, body, err)
	}
}

func TestAPathThatIsBlockedBlocksNoOtherOneAndTheServerSaysSo(t *testing.T) {
	handler := newSlow()
	r := start(t, func(o *Options) { o.MaxInFlight = 2 }, func(s *Server) {
		s.Register("/slow", handler)
		s.Register("/review", http.HandlerFunc(readReview))
	})
	r.waitReady(t)
	client := r.client()
	replies := make(chan reply, 2)
	for range 2 {
		go func() { replies <- get(client, r.url("/slow")) }()
		<-handler.entered
	}
	r.timely(t, "/review")
	r.waitNotReady(t, "requests to /slow get no turn")
	close(handler.leave)
	for range 2 {
		if got := <-replies; got.err != nil {
			t.Error(got.err)
		}
	}
	r.waitReady(t)
}

func TestARequestThatGetsNoTurnIsSentElsewhere(t *testing.T) {
	handler := newSlow()
	r := start(t, func(o *Options) { o.MaxInFlight = 1 }, func(s *Server) { s.Register("/slow", handler) })
	r.waitReady(t)
	client := r.client()
	first := make(chan reply, 1)
	go func() { first <- get(client, r.url("/slow")) }()
	<-handler.entered
	answer, err := client.Get(r.url("/slow?timeout=500ms"))
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, answer.Body)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "0" || !answer.Close {
		t.Errorf("answered %s %v", answer.Status, answer.Header)
	}
	close(handler.leave)
	<-first
}

func TestAPanicAndACallerThatLeavesGiveEverythingBack(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := start(t, func(o *Options) { o.MaxInFlight, o.Memory, o.Registerer = 1, 6<<20, registry }, func(s *Server) {
		s.Register("/bomb", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			bomb()
		}))
		s.Register("/review", http.HandlerFunc(readReview))
	})
	r.waitReady(t)
	client := r.client()
	for i := range 12 {
		pausetest.Retry(t, func() error {
			answer, err := client.Post(r.url("/bomb"), "application/json", bytes.NewReader(make([]byte, []int{100, 1_500_000}[i%2])))
			if err != nil {
				return err
			}
			if answer.StatusCode != http.StatusInternalServerError {
				err = fmt.Errorf("the panic is answered %s", answer.Status)
			}
			return errors.Join(err, answer.Body.Close())
		})
	}
	leaving := r.attacks()["half of a large body"]
	for range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		r.siege(ctx, leaving, cancel)
	}
	r.timely(t, "/review")
	eventually(t, "nothing is held", func() bool {
		held := r.bodies.count() + r.work.count()
		for _, slots := range r.slots.all() {
			held += slots.count()
		}
		return held == 0 && r.inFlight.Load() == 0
	})
}
