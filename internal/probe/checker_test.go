// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// brief is the timeout of probes that shall run into it, and ample of those that shall not.
const (
	brief = 100 * time.Millisecond
	ample = 30 * time.Second
)

func TestWhatAnHTTPProbeSaysOfAServer(t *testing.T) {
	https := common.HTTPGetAction{Scheme: ptr.To(common.SchemeHTTPS)}
	skip := &common.CheckTLS{InsecureSkipVerify: ptr.To(true)}
	ca, stranger := newAuthority(t), newAuthority(t)
	good := &tls.Config{Certificates: []tls.Certificate{ca.server(t, time.Now().Add(time.Hour))}}
	expired := &tls.Config{Certificates: []tls.Certificate{ca.server(t, time.Now().Add(-time.Hour))}}
	old := good.Clone()
	old.MaxVersion = tls.VersionTLS11
	wants := good.Clone()
	wants.ClientAuth = tls.RequireAnyClientCert

	for name, tc := range map[string]struct {
		http    common.HTTPGetAction
		tls     *common.CheckTLS
		roots   []byte
		host    string
		server  func(net.Conn) // none: nothing listens
		timeout time.Duration
		want    outcome
	}{
		"ok":                              {server: say(ok), want: connected},
		"no content":                      {server: say("HTTP/1.0 204 No Content\r\n\r\n"), want: connected},
		"a redirect is a success":         {server: say("HTTP/1.1 302 Found\r\nLocation: http://192.0.2.8/\r\n\r\n"), want: connected},
		"a redirect that is not expected": {http: common.HTTPGetAction{ExpectedStatuses: []common.StatusRange{{Start: 200, End: 299}}}, server: say("HTTP/1.1 302 Found\r\n\r\n"), want: unexpectedStatus},
		"an error":                        {server: say("HTTP/1.1 500 Oops\r\n\r\n"), want: unexpectedStatus},
		"an error that is expected":       {http: common.HTTPGetAction{ExpectedStatuses: []common.StatusRange{{Start: 200, End: 200}, {Start: 401, End: 403}}}, server: say("HTTP/1.1 403 No\r\n\r\n"), want: connected},
		"continue, and then an answer":    {server: say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok), want: connected},
		"continue for ever":               {server: say(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50)), want: protocolError},
		"switching protocols":             {server: say("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), want: unexpectedStatus},
		"nothing listens":                 {want: refused},
		"accepts and hangs":               {server: hang, timeout: brief, want: timedOut},
		"hangs within the header":         {server: say("HTTP/1.1 200 OK\r\nServer: slow"), timeout: brief, want: timedOut},
		"a body that never ends":          {server: say("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<20)), want: connected},
		"a body that never comes":         {server: say("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"), want: connected},
		"a compressed body is not opened": {server: say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip"), want: connected},
		"a huge header":                   {server: say("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), want: protocolError},
		"many headers":                    {server: say("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: x\r\n", 1<<16) + "\r\n"), want: protocolError},
		"reset at once":                   {server: cut(""), want: reset},
		"reset within the header":         {server: cut("HTTP/1.1 200 OK\r\nSer"), want: reset},
		"closes without a word":           {server: func(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }, want: reset},
		"another protocol":                {server: say("SSH-2.0-OpenSSH_9.9\r\n\r\n"), want: protocolError},
		"bytes that mean nothing":         {server: say("\x00\x01\x02\x03\n\n\n\n"), want: protocolError},
		"HTTP/2":                          {server: say("\x00\x00\x00\x04\x00\x00\x00\x00\x00\n\n"), want: protocolError},
		"TLS, asked plainly":              {server: secured(good, say(ok)), want: reset},

		"https":                           {http: https, tls: &common.CheckTLS{}, roots: ca.pem, host: "db.example.com", server: secured(good, say(ok)), want: connected},
		"https, by address":               {http: https, tls: &common.CheckTLS{}, roots: ca.pem, server: secured(good, say(ok)), want: connected},
		"https, by the name in the check": {http: https, tls: &common.CheckTLS{ServerName: ptr.To("db.example.com")}, roots: ca.pem, host: "other.example.com", server: secured(good, say(ok)), want: connected},
		"https, and an error":             {http: https, tls: &common.CheckTLS{}, roots: ca.pem, server: secured(good, say("HTTP/1.1 503 No\r\n\r\n")), want: unexpectedStatus},
		"a certificate for another name":  {http: https, tls: &common.CheckTLS{}, roots: ca.pem, host: "other.example.com", server: secured(good, say(ok)), want: certificateMismatch},
		"a certificate that has expired":  {http: https, tls: &common.CheckTLS{}, roots: ca.pem, server: secured(expired, say(ok)), want: certificateExpired},
		"another authority":               {http: https, tls: &common.CheckTLS{}, roots: stranger.pem, server: secured(good, say(ok)), want: certificateUntrusted},
		"a private one, no root given":    {http: https, server: secured(good, say(ok)), want: certificateUntrusted},
		"any certificate will do":         {http: https, tls: skip, host: "other.example.com", server: secured(expired, say(ok)), want: connected},
		"roots that are none":             {http: https, tls: skip, roots: []byte("nonsense"), server: secured(good, say(ok)), want: tlsFailed},
		"TLS 1.1":                         {http: https, tls: skip, server: secured(old, say(ok)), want: tlsFailed},
		"wants a client certificate":      {http: https, tls: skip, server: secured(wants, say(ok)), want: clientCertificateRequired},
		"plain, asked over TLS":           {http: https, server: say("HTTP/1.1 400 Bad Request\r\n\r\n"), want: tlsFailed},
		"hangs in the handshake":          {http: https, server: hang, timeout: brief, want: timedOut},
		"half a handshake, and a reset":   {http: https, server: cut("\x16\x03\x03\x00\x7a\x02\x00"), want: reset},
		"closes in the handshake":         {http: https, server: func(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }, want: reset},
		"hangs after the handshake":       {http: https, tls: skip, server: secured(good, hang), timeout: brief, want: timedOut},
	} {
		t.Run(name, func(t *testing.T) {
			w := &network{}
			check := nothingLeft(t, w)
			port, stop := closedPort(t), func() {}
			if tc.server != nil {
				port, stop = listen(t, tc.server)
			}
			if tc.timeout == 0 {
				tc.timeout = ample
			}
			if got := probeOnce(t, w, getting(tc.http, tc.tls, tc.roots), port, tc.host, tc.timeout); got != tc.want {
				t.Errorf("%s, want %s", got.reason(), tc.want.reason())
			}
			stop()
			check()
		})
	}
}

func TestWhatATCPProbeSaysOfAServer(t *testing.T) {
	w := &network{}
	check := nothingLeft(t, w)
	port, stop := listen(t, hang)
	if got := probeOnce(t, w, standard, port, "", ample); got != connected {
		t.Errorf("one that listens: %s", got.reason())
	}
	stop()
	if got := probeOnce(t, w, standard, port, "", ample); got != refused {
		t.Errorf("one that does not: %s", got.reason())
	}
	a := checker{dial: w.dial}
	if got := a.check(t.Context(), newCheckPlan(&standard), dialTarget{Query: egress.Query{IP: netip.MustParseAddr("192.0.2.9")}}, ample); got != denied {
		t.Errorf("one that the policy refuses: %s", got.reason())
	}
	check()
}

func TestTheTimeoutCoversTheDial(t *testing.T) {
	a := checker{dial: func(ctx context.Context, _ egress.Query) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	if got := a.check(t.Context(), newCheckPlan(&standard), dialTarget{}, brief); got != timedOut {
		t.Errorf("%s, want Timeout", got.reason())
	}
}

func TestAProbeEndsWithItsContext(t *testing.T) {
	for kind, c := range map[string]Check{
		"http":  getting(common.HTTPGetAction{}, nil, nil),
		"https": getting(common.HTTPGetAction{Scheme: ptr.To(common.SchemeHTTPS)}, nil, nil),
		"grpc":  calling(common.GRPCAction{}, nil, nil),
	} {
		t.Run(kind, func(t *testing.T) {
			w := &network{}
			check := nothingLeft(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			port, stop := listen(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 1))
				cancel()
				hang(conn)
			})
			a := checker{dial: w.dial}
			start := time.Now()
			a.check(ctx, newCheckPlan(&c), dialTarget{Query: egress.Query{IP: outside, Port: port}}, time.Minute)
			if took := time.Since(start); took > ample {
				t.Errorf("it took %s", took)
			}
			stop()
			check()
		})
	}
}

// requestOf returns what a probe sends.
func requestOf(t *testing.T, c Check, host string, ip netip.Addr) string {
	t.Helper()
	here, there := net.Pipe()
	var request string
	var reading sync.WaitGroup
	reading.Go(func() {
		b := make([]byte, 4096)
		n, _ := there.Read(b)
		request = string(b[:n])
		_, _ = io.WriteString(there, ok)
		_ = there.Close()
	})
	a := checker{dial: func(context.Context, egress.Query) (net.Conn, error) { return here, nil }}
	a.check(t.Context(), newCheckPlan(&c), dialTarget{Query: egress.Query{IP: ip, Port: 8080}, host: host}, ample)
	_ = here.Close()
	reading.Wait()
	return request
}

func TestTheRequestIsFixed(t *testing.T) {
	const rest = "\r\nUser-Agent: fairlead-probe/1\r\nAccept: */*\r\nConnection: close\r\n\r\n"
	t.Setenv("HTTP_PROXY", "http://192.0.2.99:3128")
	six := netip.MustParseAddr("2001:db8::7")
	for name, tc := range map[string]struct {
		http common.HTTPGetAction
		host string
		ip   netip.Addr
		want string
	}{
		"an address":       {common.HTTPGetAction{}, "", outside, "GET / HTTP/1.1\r\nHost: 192.0.2.7:8080" + rest},
		"an IPv6 address":  {common.HTTPGetAction{Path: ptr.To("/x")}, "", six, "GET /x HTTP/1.1\r\nHost: [2001:db8::7]:8080" + rest},
		"a name":           {common.HTTPGetAction{Path: ptr.To("/x?y=z&a=%20")}, "db.example.com", six, "GET /x?y=z&a=%20 HTTP/1.1\r\nHost: db.example.com:8080" + rest},
		"the check's host": {common.HTTPGetAction{HostHeader: ptr.To("www.example.com:81")}, "db.example.com", six, "GET / HTTP/1.1\r\nHost: www.example.com:81" + rest},
		"a path that would end the line": {common.HTTPGetAction{Path: ptr.To("/ HTTP/1.1\r\nX: y\u00e9#f")}, "db.example.com", six,
			"GET /%20HTTP/1.1%0D%0AX:%20y%C3%A9%23f HTTP/1.1\r\nHost: db.example.com:8080" + rest},
		"no leading slash": {common.HTTPGetAction{Path: ptr.To("x")}, "db.example.com", six, "GET /x HTTP/1.1\r\nHost: db.example.com:8080" + rest},
		"headers": {common.HTTPGetAction{HTTPHeaders: []common.HTTPHeader{{Name: "X-Check", Value: "deep, \"very\""}, {Name: "X-Other", Value: ""}}}, "", outside,
			"GET / HTTP/1.1\r\nHost: 192.0.2.7:8080\r\nUser-Agent: fairlead-probe/1\r\nX-Check: deep, \"very\"\r\nX-Other: \r\nAccept: */*\r\nConnection: close\r\n\r\n"},
		"what is accepted": {common.HTTPGetAction{HTTPHeaders: []common.HTTPHeader{{Name: "accept", Value: "text/plain"}}}, "", outside,
			"GET / HTTP/1.1\r\nHost: 192.0.2.7:8080\r\nUser-Agent: fairlead-probe/1\r\naccept: text/plain\r\nConnection: close\r\n\r\n"},
		"a header that would end the line": {common.HTTPGetAction{HTTPHeaders: []common.HTTPHeader{{Name: "X", Value: "y\r\nZ: z"}}}, "", outside, ""},
		"a header's name that would, too":  {common.HTTPGetAction{HTTPHeaders: []common.HTTPHeader{{Name: "X: y\r\nZ", Value: "z"}}}, "", outside, ""},
		"a header of the connection":       {common.HTTPGetAction{HTTPHeaders: []common.HTTPHeader{{Name: "tRansfer-encoding", Value: "chunked"}}}, "", outside, ""},
		"the host as a header":             {common.HTTPGetAction{HTTPHeaders: []common.HTTPHeader{{Name: "host", Value: "x"}}}, "", outside, "GET / HTTP/1.1\r\nHost: x" + rest},
		"a host that would end the header": {common.HTTPGetAction{HostHeader: ptr.To("a\r\nX: y")}, "db.example.com", six, ""},
		"a name that would end the header": {common.HTTPGetAction{}, "a\nX: y", six, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, requestOf(t, getting(tc.http, nil, nil), tc.host, tc.ip)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARedirectIsNeverFollowed(t *testing.T) {
	w := &network{}
	visited := make(chan struct{}, 10)
	canary, stopCanary := listen(t, func(net.Conn) { visited <- struct{}{} })
	port, stop := listen(t, say(fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\n\r\n", canary)))
	if got := probeOnce(t, w, getting(common.HTTPGetAction{}, nil, nil), port, "", ample); got != connected {
		t.Errorf("%s, want Connected", got.reason())
	}
	stop()
	stopCanary()
	if len(visited) > 0 || w.opened.Load() != 1 {
		t.Errorf("the canary was visited %d times, of %d connections", len(visited), w.opened.Load())
	}
}

func TestErrorsHaveTheWordOfTheirType(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("dial 192.0.2.7: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)})
	}
	for _, tc := range []struct {
		err  error
		want outcome
	}{
		{fmt.Errorf("x: %w", egress.ErrDenied), denied},
		{dial(syscall.ECONNREFUSED), refused},
		{dial(syscall.ECONNRESET), reset},
		{dial(syscall.EPIPE), reset},
		{dial(syscall.EHOSTUNREACH), unreachable},
		{dial(syscall.ENETUNREACH), unreachable},
		{dial(syscall.ETIMEDOUT), timedOut},
		{dial(syscall.EMFILE), local},
		{dial(syscall.EACCES), protocolError},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, timedOut},
		{context.DeadlineExceeded, timedOut},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, clientCertificateRequired},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, clientCertificateRequired},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, tlsFailed},
		{io.ErrUnexpectedEOF, reset},
		{errors.New("connection refused by policy: timeout"), protocolError},
	} {
		if got := outcomeOf(tc.err, protocolError); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got.reason(), tc.want.reason())
		}
	}
}

func TestANameIsAsWellAsTheBestOfItsAddresses(t *testing.T) {
	refuses, denies, hangs, full, answers := ip(1), ip(2), ip(3), ip(4), ip(5)
	for name, tc := range map[string]struct {
		leads []netip.Addr
		err   error
		want  outcome
		took  time.Duration
	}{
		"one answers":                  {[]netip.Addr{refuses, denies, answers}, nil, connected, 0},
		"one hangs, and one answers":   {[]netip.Addr{hangs, answers}, nil, connected, 0},
		"one hangs, and one refuses":   {[]netip.Addr{refuses, hangs}, nil, refused, 2 * time.Second},
		"a refusal and a policy's":     {[]netip.Addr{denies, refuses}, nil, refused, 0},
		"out of files, and a policy's": {[]netip.Addr{denies, full}, nil, local, 0},
		"a policy's only":              {[]netip.Addr{denies, denies}, nil, denied, 0},
		"no address":                   {nil, nil, unresolved, 0},
		"an error":                     {[]netip.Addr{answers}, errors.New("no nameserver"), unresolved, 0},
		"no valid address":             {[]netip.Addr{{}}, nil, unresolved, 0},
		"the ninth answers":            {append(slices.Repeat([]netip.Addr{refuses}, 8), answers), nil, refused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var under atomic.Int64
				a := checker{
					dial: func(ctx context.Context, to egress.Query) (net.Conn, error) {
						under.Add(1)
						defer under.Add(-1)
						switch to.IP {
						case refuses:
							return nil, syscall.ECONNREFUSED
						case denies:
							return nil, egress.ErrDenied
						case full:
							return nil, syscall.EMFILE
						case hangs:
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return nothing{}, nil
					},
					lookup: func(context.Context, string) ([]netip.Addr, error) { return tc.leads, tc.err },
				}
				start := time.Now()
				got := a.check(t.Context(), newCheckPlan(&standard), dialTarget{host: "db.example.com"}, 2*time.Second)
				if took := time.Since(start); got != tc.want || took != tc.took {
					t.Errorf("%s after %s, want %s after %s", got.reason(), took, tc.want.reason(), tc.took)
				}
				if under.Load() != 0 {
					t.Error("something goes on")
				}
			})
		})
	}
}

func TestAPanicAtOneAddressIsNoResultOfIt(t *testing.T) {
	bad, good := ip(1), ip(2)
	a := checker{
		dial: func(_ context.Context, to egress.Query) (net.Conn, error) {
			if to.IP == bad {
				panic("a defect") //nolint:forbidigo // what it tests
			}
			return nothing{}, nil
		},
		lookup: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{bad, good}, nil },
	}
	if got := a.check(t.Context(), newCheckPlan(&standard), dialTarget{host: "db.example.com"}, time.Minute); got != connected {
		t.Errorf("%s, though one address answers", got.reason())
	}
	a.lookup = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{bad}, nil }
	if got := a.check(t.Context(), newCheckPlan(&standard), dialTarget{host: "db.example.com"}, time.Minute); got != local {
		t.Errorf("%s", got.reason())
	}
}

func TestThePortOfTheSchemeIsNotInTheHost(t *testing.T) {
	for want, of := range map[string]struct {
		port  uint16
		https bool
	}{"a": {80, false}, "a:80": {80, true}, "a:443": {443, false}} {
		if got := hostHeader("a", of.port, of.https); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := hostHeader("2001:db8::7", 443, true); got != "[2001:db8::7]" {
		t.Error(got)
	}
}
