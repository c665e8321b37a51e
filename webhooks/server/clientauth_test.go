// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
)

// identity signs a client certificate.
func (a *authority) identity(change func(*x509.Certificate)) *tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(leaf)
	}
	return a.sign(leaf, key)
}

func (a *authority) sign(leaf *x509.Certificate, key *ecdsa.PrivateKey) *tls.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.root, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.root)
	return pool
}

// guarded runs a server with a guarded and an anonymous path that trusts one authority.
func guarded(t *testing.T, names []string, change ...func(*Options)) (*running, *authority, *prometheus.Registry, *notes) {
	t.Helper()
	trusted, registry, log := newAuthority(t), prometheus.NewRegistry(), &notes{}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answered")) })
	r := start(t, func(o *Options) {
		o.ClientCAs, o.ClientNames, o.Anonymous = trusted.pool, names, []string{"/convert"}
		o.Registerer = registry
		o.Logger = funcr.New(func(_, args string) { log.add(args) }, funcr.Options{})
		for _, f := range change {
			f(o)
		}
	}, func(s *Server) {
		s.Register("/validate", answer)
		s.Register("/convert", answer)
	})
	r.waitReady(t)
	return r, trusted, registry, log
}

// notes are the lines of a log.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) having(text string) (found []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// call returns the code and the body, or the error of the connection as the body.
func (r *running) call(path string, certificate *tls.Certificate) (int, string) {
	client := r.client(func(c *tls.Config) {
		if certificate != nil {
			c.Certificates = []tls.Certificate{*certificate}
		}
	})
	defer client.CloseIdleConnections()
	return ask(client, r.url(path))
}

func ask(client *http.Client, url string) (int, string) {
	response, err := client.Post(url, "application/json", strings.NewReader("{}"))
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

func TestOnlyCallersWithACertificateOfTheAuthorityAreAnswered(t *testing.T) {
	r, trusted, registry, log := guarded(t, []string{"kube-apiserver", "api.example.com"})
	stranger := newAuthority(t)
	for name, test := range map[string]struct {
		path        string
		certificate *tls.Certificate
		code        int
		says        string
		reason      string
	}{
		"right":                    {"/validate", trusted.identity(nil), 200, "answered", ""},
		"right, other":             {"/convert", trusted.identity(nil), 200, "answered", ""},
		"by DNS name":              {"/validate", trusted.identity(func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "x", []string{"api.example.com"} }), 200, "answered", ""},
		"none, anonymous":          {"/convert", nil, 200, "answered", ""},
		"none":                     {"/validate", nil, 403, "WebhookAdmissionConfiguration", "none"},
		"none, nowhere":            {"/nowhere", nil, 403, "client certificate", "none"},
		"another name":             {"/validate", trusted.identity(func(c *x509.Certificate) { c.Subject.CommonName = "ann" }), 0, "tls: bad certificate", "name"},
		"stranger":                 {"/validate", stranger.identity(nil), 0, "tls: bad certificate", "untrusted"},
		"stranger, anonymous path": {"/convert", stranger.identity(nil), 0, "tls: bad certificate", "untrusted"},
		"expired":                  {"/validate", trusted.identity(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), 0, "tls: bad certificate", "expired"},
		"of a server":              {"/validate", trusted.identity(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), 0, "tls: bad certificate", "untrusted"},
	} {
		t.Run(name, func(t *testing.T) {
			before := values(t, registry, "fairlead_webhook_refused_callers_total")
			code, body := r.call(test.path, test.certificate)
			if code != test.code || !strings.Contains(body, test.says) {
				t.Errorf("answered %d %s, want %d %s", code, body, test.code, test.says)
			}
			for reason, count := range values(t, registry, "fairlead_webhook_refused_callers_total") {
				if refused := count > before[reason]; refused != (reason == test.reason) {
					t.Errorf("reason %s was counted %t", reason, refused)
				}
			}
		})
	}
	for _, reason := range []string{"none", "name", "untrusted", "expired"} {
		if lines := log.having(`"reason"="` + reason + `"`); len(lines) != 1 {
			t.Errorf("reason %s was logged %d times: %q", reason, len(lines), lines)
		}
	}
	if lines := log.having("TLS handshake error"); len(lines) > 0 {
		t.Errorf("refused callers are logged again: %q", lines)
	}
}

func TestAnAuthorityThatIsTakenAwayCountsOnOpenConnections(t *testing.T) {
	var pool atomic.Pointer[x509.CertPool]
	r, trusted, _, _ := guarded(t, nil, func(o *Options) { o.ClientCAs = pool.Load })
	pool.Store(trusted.pool())
	client := r.client(func(c *tls.Config) { c.Certificates = []tls.Certificate{*trusted.identity(nil)} })
	if code, body := ask(client, r.url("/validate")); code != 200 {
		t.Fatalf("answered %d %s", code, body)
	}
	for name, next := range map[string]*x509.CertPool{"another": newAuthority(t).pool(), "none": nil} {
		pool.Store(next)
		if code, body := ask(client, r.url("/validate")); code != 403 || !strings.Contains(body, "webhook.clients.caFile") {
			t.Errorf("%s: answered %d %s", name, code, body)
		}
	}
	pool.Store(trusted.pool())
	if code, body := ask(client, r.url("/validate")); code != 200 {
		t.Errorf("answered %d %s", code, body)
	}
}

func TestTheSelfCheckNeedsNoCertificateOfAClient(t *testing.T) {
	r, _, registry, log := guarded(t, []string{"kube-apiserver"})
	r.source.serve(r.authority.valid()) // proven by another handshake
	eventually(t, "a second handshake", func() bool {
		leaf, err := leafOf(r.source.certificate.Load())
		if err != nil {
			t.Fatal(err)
		}
		return value(t, registry, "fairlead_webhook_certificate_expiry_timestamp_seconds") == float64(leaf.NotAfter.Unix()) && r.Ready() == nil
	})
	if n := value(t, registry, "fairlead_webhook_self_check_failures_total"); n > 0 {
		t.Errorf("%v handshakes of the server with itself failed", n)
	}
	if lines := log.having("refused"); len(lines) > 0 {
		t.Errorf("the server refused itself: %q", lines)
	}
}

func TestWithoutAuthoritiesNoCallerNeedsACertificate(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := start(t, func(o *Options) { o.Registerer = registry }, func(s *Server) {
		s.Register("/validate", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answered")) }))
	})
	r.waitReady(t)
	for name, certificate := range map[string]*tls.Certificate{"none": nil, "of another authority": newAuthority(t).identity(nil)} {
		if code, body := r.call("/validate", certificate); code != 200 || body != "answered" {
			t.Errorf("%s: answered %d %s", name, code, body)
		}
	}
	if counted := values(t, registry, "fairlead_webhook_refused_callers_total"); len(counted) > 0 {
		t.Errorf("refusals are shown where there are none: %v", counted)
	}
}

func TestNamesOfClientsNeedAuthorities(t *testing.T) {
	err := New(Options{Certificate: (&source{}).get, ClientNames: []string{"kube-apiserver"}}).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no authorities") {
		t.Errorf("error is %v", err)
	}
}

func TestARefusalIsLoggedOnceAnHourForEachReason(t *testing.T) {
	log, now := &notes{}, time.Now()
	c := newClientAuth(Options{
		ClientCAs: newAuthority(t).pool, Logger: funcr.New(func(_, args string) { log.add(args) }, funcr.Options{}),
	}, func() time.Time { return now }, newMetrics(nil, testLogger(t)).refusedCallers)
	r := &http.Request{}
	for range 100 {
		if c.authorize(r, "/validate") == nil {
			t.Fatal("admitted without a certificate")
		}
	}
	if lines := log.having("refused"); len(lines) != 1 {
		t.Fatalf("100 refusals are %d lines", len(lines))
	}
	now = now.Add(complainEvery)
	if err := c.authorize(r, "/validate"); err == nil {
		t.Fatal("admitted without a certificate")
	}
	if lines := log.having(`"leftOutBefore"=99`); len(lines) != 1 {
		t.Errorf("the next hour says %q", log.lines)
	}
}
