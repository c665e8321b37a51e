// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

const serverName = "fairlead-webhook.fairlead-system.svc"

// authority is a root that signs certificates for tests.
type authority struct {
	t      testing.TB
	root   *x509.Certificate
	key    *ecdsa.PrivateKey
	bundle []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := newKey(t)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test root"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t: t, root: parsed, key: key, bundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue signs a serving certificate that is valid between two times from now.
func (a *authority) issue(name string, from, to time.Duration) *tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.root, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.root.Raw}, PrivateKey: key}
}

func (a *authority) valid() *tls.Certificate { return a.issue(serverName, -time.Hour, time.Hour) }

// source hands out what a test puts into it.
type source struct {
	certificate atomic.Pointer[tls.Certificate]
	bundle      atomic.Pointer[[]byte]
}

func (s *source) serve(certificate *tls.Certificate) { s.certificate.Store(certificate) }
func (s *source) publish(bundle []byte)              { s.bundle.Store(&bundle) }

func (s *source) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := s.certificate.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errors.New("none was issued")
}

func (s *source) ca() []byte {
	if bundle := s.bundle.Load(); bundle != nil {
		return *bundle
	}
	return nil
}

// running is a started server and a client that trusts it.
type running struct {
	*Server
	authority *authority
	source    *source
	stop      context.CancelFunc
	stopped   chan error
}

// start runs a server on a free port until the test ends.
func start(t *testing.T, change func(*Options), prepare ...func(*Server)) *running {
	t.Helper()
	r := &running{authority: newAuthority(t), source: &source{}, stopped: make(chan error, 1)}
	r.source.serve(r.authority.valid())
	r.source.publish(r.authority.bundle)
	o := Options{
		Host: "127.0.0.1", Certificate: r.source.get, CABundle: r.source.ca, ServerName: serverName,
		Logger: testLogger(t),
	}
	if change != nil {
		change(&o)
	}
	r.Server = New(o)
	for _, f := range prepare {
		f(r.Server)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.stopped <- r.Start(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// testLogger writes to the test's log.
func testLogger(t *testing.T) logr.Logger {
	return funcr.New(func(prefix, args string) { t.Log(prefix, args) }, funcr.Options{})
}

func (r *running) waitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
}

// waitNotReady waits until the server says that it is not ready for this reason.
func (r *running) waitNotReady(t *testing.T, says string) {
	t.Helper()
	eventually(t, "not ready because of "+says, func() bool {
		err := r.Ready()
		return err != nil && strings.Contains(err.Error(), says)
	})
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("it never came to this: %s", what)
		case <-tick.C:
		}
	}
}

func (r *running) url(path string) string { return "https://" + r.Addr().String() + path }

func (r *running) client(change ...func(*tls.Config)) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(r.authority.root)
	config := &tls.Config{RootCAs: roots, ServerName: serverName}
	for _, f := range change {
		f(config)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	r.authority.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// bomb panics, as handlers are not supposed to.
func bomb() {
	panic("boom") //nolint:forbidigo // what the tests are about
}

func closing(t testing.TB, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Log(err)
	}
}
