// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// stepping returns a check by TCP, whose text is that of a manifest, with the values of its Secrets.
func stepping(t testing.TB, text string, values ...string) Check {
	t.Helper()
	var c common.Check
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	check := withDefaults(c, nil)
	for _, value := range values {
		check.Values = append(check.Values, NewConfidential([]byte(value)))
	}
	return check
}

// redis serves the part of the Redis protocol that checks use: inline commands, after AUTH where there is a password.
func redis(role, password string) func(net.Conn) {
	return func(conn net.Conn) {
		isOpen := password == ""
		for commands := bufio.NewScanner(conn); commands.Scan(); {
			words := strings.Fields(commands.Text())
			answer := "-ERR unknown command\r\n"
			switch {
			case len(words) == 0:
				continue
			case words[0] == "AUTH":
				answer = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
				if isOpen = len(words) == 2 && words[1] == password; isOpen {
					answer = "+OK\r\n"
				}
			case !isOpen:
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
}

// greeting is a server that speaks first, and responds to one line.
func greeting(hello, answer string) func(net.Conn) {
	return func(conn net.Conn) {
		for i := range len(hello) { // in as many segments as there are bytes
			_, _ = io.WriteString(conn, hello[i:i+1])
		}
		_, _ = conn.Read(make([]byte, 512))
		_, _ = io.WriteString(conn, answer)
		hang(conn)
	}
}

func TestStepsTellTheRoleOfAServer(t *testing.T) {
	const (
		ping   = `{tcpSocket: {steps: [{send: 'PING\r\n', expect: +PONG}]}}`
		master = `{tcpSocket: {steps: [{send: 'ROLE\r\n', expect: master}]}}`
		auth   = `{tcpSocket: {steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}, expect: +OK}, {send: "ROLE\r\n", expect: '$6\r\nmaster'}]}}`
		smtp   = `{tcpSocket: {steps: [{expect: '220 '}, {send: 'QUIT\r\n', expect: "221"}]}}`
		mysql  = `{tcpSocket: {steps: [{expect: '\x0a8.4'}]}}`
	)
	for name, tc := range map[string]struct {
		check   string
		values  []string
		server  func(net.Conn)
		timeout time.Duration
		want    outcome
	}{
		"Redis replies":                  {check: ping, server: redis("slave", ""), want: connected},
		"Redis, the master":              {check: master, server: redis("master", ""), want: connected},
		"Redis, a replica":               {check: master, server: redis("slave", ""), timeout: brief, want: unexpectedResponse},
		"Redis, without AUTH":            {check: ping, server: redis("master", "s3cret"), timeout: brief, want: unexpectedResponse},
		"Redis, with AUTH":               {check: auth, values: []string{"s3cret"}, server: redis("master", "s3cret"), want: connected},
		"Redis, with AUTH, a replica":    {check: auth, values: []string{"s3cret"}, server: redis("slave", "s3cret"), timeout: brief, want: unexpectedResponse},
		"Redis, with another's password": {check: auth, values: []string{"guess"}, server: redis("master", "s3cret"), timeout: brief, want: unexpectedResponse},
		"a value that was not read":      {check: auth, server: redis("master", "s3cret"), want: protocolError},
		"SMTP greets first":              {check: smtp, server: greeting("220 mail ESMTP\r\n", "221 Bye\r\n"), want: connected},
		"SMTP is busy":                   {check: smtp, server: greeting("421 Busy\r\n", ""), timeout: brief, want: unexpectedResponse},
		"what came after a match counts": {check: `{tcpSocket: {steps: [{expect: a}, {expect: b}]}}`, server: greeting("ab", ""), want: connected},
		"what came before it does not":   {check: `{tcpSocket: {steps: [{expect: b}, {expect: a}]}}`, server: greeting("ab", ""), timeout: brief, want: timedOut},
		"MySQL greets in bytes":          {check: mysql, server: greeting("J\x00\x00\x00\x0a8.4.5\x00\x09\x00\x00\x00", ""), want: connected},
		"says nothing":                   {check: ping, server: hang, timeout: brief, want: timedOut},
		"closes without a word":          {check: ping, server: func(conn net.Conn) { _, _ = conn.Read(make([]byte, 64)) }, want: reset},
		"closes after another one":       {check: ping, server: func(conn net.Conn) { _, _ = conn.Read(make([]byte, 64)); _, _ = io.WriteString(conn, "no\r\n") }, want: unexpectedResponse},
		"resets":                         {check: ping, server: cut("no"), want: reset},
		"the text at the end of 4 KiB":   {check: ping, server: say(strings.Repeat("x", expectLimit-5) + "+PONG"), want: connected},
		"the text after 4 KiB":           {check: ping, server: say(strings.Repeat("x", expectLimit) + "+PONG"), want: unexpectedResponse},
		"4 KiB for each step":            {check: `{tcpSocket: {steps: [{expect: a}, {expect: b}]}}`, server: greeting(strings.Repeat("x", 4000)+"a"+strings.Repeat("x", 4000)+"b", ""), want: connected},
		"a step that only sends":         {check: `{tcpSocket: {steps: [{send: hello}]}}`, server: hang, want: connected},
		"an escape that is none":         {check: `{tcpSocket: {steps: [{send: '\q'}]}}`, server: hang, want: protocolError},
		"nothing listens":                {check: ping, want: refused},
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
			if got := probeOnce(t, w, stepping(t, tc.check, tc.values...), port, "", tc.timeout); got != tc.want {
				t.Errorf("%s, want %s", got.reason(), tc.want.reason())
			}
			stop()
			check()
		})
	}
}

func TestStepsGoOverTLSWithACertificateOfTheClient(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	good := &tls.Config{Certificates: []tls.Certificate{ca.server(t, time.Now().Add(time.Hour))}}
	mutual := good.Clone()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	mutual.ClientCAs.AppendCertsFromPEM(ca.pem)
	const secure = `{tcpSocket: {steps: [{send: 'PING\r\n', expect: +PONG}]}, tls: {caSecretName: ca}}`
	const named = `{%s, tls: {caSecretName: ca, clientCertificateSecretName: client}}`
	pair := func(by *authority) Confidential {
		own := by.sign(t, &x509.Certificate{SerialNumber: by.certificate.SerialNumber, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		return NewConfidential(append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...))
	}
	steps := fmt.Sprintf(named, `tcpSocket: {steps: [{send: 'PING\r\n', expect: +PONG}]}`)
	get := fmt.Sprintf(named, `httpGet: {}`)
	for name, tc := range map[string]struct {
		check  string
		roots  []byte
		client Confidential
		server func(net.Conn)
		want   outcome
	}{
		"TLS":                             {secure, ca.pem, Confidential{}, secured(good, redis("master", "")), connected},
		"TLS, and a stranger's roots":     {secure, stranger.pem, Confidential{}, secured(good, redis("master", "")), certificateUntrusted},
		"TLS without a step":              {`{tcpSocket: {}, tls: {caSecretName: ca}}`, ca.pem, Confidential{}, secured(good, hang), connected},
		"no TLS there":                    {secure, ca.pem, Confidential{}, say("+PONG\r\n"), tlsFailed},
		"steps, without a certificate":    {secure, ca.pem, Confidential{}, secured(mutual, redis("master", "")), clientCertificateRequired},
		"steps, with one":                 {steps, ca.pem, pair(ca), secured(mutual, redis("master", "")), connected},
		"steps, with a stranger's":        {steps, ca.pem, pair(stranger), secured(mutual, redis("master", "")), clientCertificateRequired},
		"a request, with one":             {get, ca.pem, pair(ca), secured(mutual, say(ok)), connected},
		"a certificate that was not read": {get, ca.pem, Confidential{}, secured(mutual, say(ok)), tlsFailed},
		"a pair that is none":             {get, ca.pem, NewConfidential([]byte("nonsense")), secured(mutual, say(ok)), tlsFailed},
	} {
		t.Run(name, func(t *testing.T) {
			port, stop := listen(t, tc.server)
			defer stop()
			c := stepping(t, tc.check)
			c.RootPEM, c.ClientPEM = tc.roots, tc.client
			if got := probeOnce(t, &network{}, c, port, "", ample); got != tc.want {
				t.Errorf("%s, want %s", got.reason(), tc.want.reason())
			}
		})
	}
}

// patroni serves the health of a member of a cluster as Patroni's REST API does.
func patroni(role string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is := map[string]bool{"/primary": role == "primary", "/replica": role == "replica", "/health": true}[r.URL.Path]
		if !is {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"state": "running", "role": %q, "server_version": 170004}`, role)
		}
	})
}

func TestAnHTTPCheckTellsTheRoleOfAServer(t *testing.T) {
	for name, tc := range map[string]struct {
		http string
		role string
		want outcome
	}{
		"the primary":                      {`path: /primary`, "primary", connected},
		"a replica":                        {`path: /primary`, "replica", unexpectedStatus},
		"a replica, as one":                {`path: /replica, method: HEAD`, "replica", connected},
		"OPTIONS, as HAProxy sends them":   {`path: /primary, method: OPTIONS`, "primary", connected},
		"OPTIONS, at a replica":            {`path: /primary, method: OPTIONS`, "replica", unexpectedStatus},
		"the body of the primary":          {`path: /health, expectedBody: '"role": "primary"'`, "primary", connected},
		"the body of a replica":            {`path: /health, expectedBody: '"role": "primary"'`, "replica", unexpectedResponse},
		"the status comes before the body": {`path: /primary, expectedBody: replica`, "replica", unexpectedStatus},
	} {
		t.Run(name, func(t *testing.T) {
			methods := make(chan string, 1)
			server := &http.Server{ReadHeaderTimeout: ample, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				methods <- r.Method
				patroni(tc.role).ServeHTTP(w, r)
			})}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = server.Serve(listener) }()
			defer func() { _ = server.Close() }()
			c := stepping(t, "{httpGet: {"+tc.http+"}}")
			if got := probeOnce(t, &network{}, c, listener.Addr().(*net.TCPAddr).AddrPort().Port(), "", ample); got != tc.want {
				t.Errorf("%s, want %s", got.reason(), tc.want.reason())
			}
			if got, want := <-methods, string(ptr.Deref(c.HTTPGet.Method, common.MethodGet)); got != want {
				t.Errorf("the method is %s, want %s", got, want)
			}
		})
	}
}

func TestABodyIsReadToFourKiBAndOnlyWhereItMatters(t *testing.T) {
	const expecting = `{httpGet: {expectedBody: ready}}`
	for name, tc := range map[string]struct {
		server  string
		timeout time.Duration
		want    outcome
	}{
		"at the end of 4 KiB": {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", expectLimit-5) + "ready" + strings.Repeat("x", 1<<20), 0, connected},
		"after 4 KiB":         {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", expectLimit) + "ready", 0, unexpectedResponse},
		"in chunks":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nrea\r\n2\r\ndy\r\n0\r\n\r\n", 0, connected},
		"none":                {"HTTP/1.1 204 No Content\r\n\r\n", 0, unexpectedResponse},
		"an empty one":        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0, unexpectedResponse},
		"half of it":          {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nrea", brief, unexpectedResponse},
		"never":               {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", brief, unexpectedResponse},
	} {
		t.Run(name, func(t *testing.T) {
			port, stop := listen(t, say(tc.server))
			defer stop()
			if tc.timeout == 0 {
				tc.timeout = ample
			}
			if got := probeOnce(t, &network{}, stepping(t, expecting), port, "", tc.timeout); got != tc.want {
				t.Errorf("%s, want %s", got.reason(), tc.want.reason())
			}
		})
	}
}

func TestWhatIsConfidentialIsComparedAndNeverShown(t *testing.T) {
	c := stepping(t, `{tcpSocket: {steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}}}]}}`, "hidden")
	plan := newCheckPlan(&c)
	var all strings.Builder
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&all, format+format, c, plan)
		fmt.Fprintf(&all, format, plan.steps)
	}
	text, err := json.Marshal(c.Secrets)
	if all.Write(text); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{"hidden", "68696464656e", "104 105 100 100 101 110", "aGlkZGVu"} {
		if strings.Contains(all.String(), shown) {
			t.Errorf("it is shown as %q", shown)
		}
	}
	same := stepping(t, `{tcpSocket: {steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}}}]}}`, "hidden")
	other := same
	other.Values = []Confidential{NewConfidential([]byte("Hidden"))}
	if !c.isEqual(&same) || c.isEqual(&other) || !c.sameRequest(&other) {
		t.Error("equal values differ, or others do not, or a rotated one is another request")
	}
}

// Each member of a check makes another one of it: what the pool of probes shares is equal in all of them.
func TestChecksThatDifferInAnyMemberAreOthers(t *testing.T) {
	const base = `{tcpSocket: {steps: [{expect: hello}, {send: a, expect: b}]}}`
	for _, text := range []string{
		`{tcpSocket: {steps: [{expect: hello}]}}`, `{tcpSocket: {}}`, `{tcpSocket: {steps: [{expect: hello}, {send: b, expect: b}]}}`,
		`{tcpSocket: {steps: [{send: a, expect: b}, {expect: hello}]}}`, `{tcpSocket: {steps: [{expect: hello}, {send: a}]}}`,
		`{tcpSocket: {steps: [{expect: hello}, {send: a, expect: b}]}, tls: {}}`,
		`{tcpSocket: {steps: [{expect: hello}, {sendFrom: {secretKeyRef: {name: a, key: b}}, expect: b}]}}`,
	} {
		a, b := stepping(t, base), stepping(t, text)
		if a.isEqual(&b) || a.sameRequest(&b) {
			t.Errorf("%s is taken for %s", text, base)
		}
	}
	for _, pair := range [][2]string{{`method: GET`, `method: HEAD`}, {`expectedBody: a`, `expectedBody: b`}} {
		a, b := stepping(t, "{httpGet: {"+pair[0]+"}}"), stepping(t, "{httpGet: {"+pair[1]+"}}")
		if a.sameRequest(&b) {
			t.Errorf("%s is taken for %s", pair[1], pair[0])
		}
	}
	plain, own := stepping(t, `{httpGet: {}, tls: {}}`), stepping(t, `{httpGet: {}, tls: {clientCertificateSecretName: a}}`)
	if plain.sameRequest(&own) {
		t.Error("a check with a certificate is taken for one without")
	}
}

func TestARotatedCredentialKeepsTheHealthAndIsUsedAtOnce(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.serves = nil
		check := getting(common.HTTPGetAction{}, nil, nil)
		check.Values = []Confidential{NewConfidential([]byte("first"))}
		s.Set(key("db"), check, []Target{to(1)})
		s.advance(time.Second)
		s.since(&s.notified)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(10 * time.Second)
		s.want("the first failure is notified, so that the Secret is read again", &s.notified, "db")
		s.advance(time.Second)
		s.since(&s.probes)
		s.fail(nil, ip(1))
		check.Values = []Confidential{NewConfidential([]byte("second"))}
		if got := s.Set(key("db"), check, []Target{to(1)})[0]; got.State != networkingv1.AddressHealthy || !got.Since.Equal(s.began) {
			t.Errorf("%s since %s", got.State, got.Since)
		}
		s.advance(time.Second)
		if got := s.since(&s.probes); len(got) != 1 {
			t.Errorf("probes within a second of the rotation: %q", got)
		}
	})
}

// Checks by steps are as quick as those by HTTP, and leave nothing behind, with thousands at once.
func TestManyStepsAtOnce(t *testing.T) {
	w := &network{}
	check := nothingLeft(t, w)
	port, stop := listenAll(t, redis("master", "s3cret"))
	c := stepping(t, `{tcpSocket: {steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}, expect: +OK}, {send: 'ROLE\r\n', expect: master}]}}`, "s3cret")
	var failed atomic.Int64
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for range 32 {
				if probeOnce(t, w, c, port, "", ample) != connected {
					failed.Add(1)
				}
			}
		})
	}
	running.Wait()
	stop()
	if failed.Load() > 0 {
		t.Errorf("%d of 512 failed", failed.Load())
	}
	check()
}

// listenAll has a server handle connections beside each other.
func listenAll(t testing.TB, handle func(net.Conn)) (port uint16, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var handling sync.WaitGroup
	handling.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handling.Go(func() {
				handle(conn)
				_ = conn.Close()
			})
		}
	})
	return listener.Addr().(*net.TCPAddr).AddrPort().Port(), func() {
		_ = listener.Close()
		handling.Wait()
	}
}
