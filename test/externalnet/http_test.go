// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"
)

// client is an HTTP client whose connections end outside. It follows no redirect.
func client(t *testing.T, within time.Duration, secure *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return Dial(ctx, network, to)
		},
		TLSClientConfig: secure, DisableKeepAlives: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Timeout: within, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func get(t *testing.T, c *http.Client, url string) (status int, header http.Header, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "test")
	response, err := c.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, response.Header, err
}

func TestFaultsOfHTTPAreWhatAClientSees(t *testing.T) {
	w := newWorld(t)
	plain := ok(t)(w.HTTP("192.0.2.20:8080"))
	secure := ok(t)(w.HTTPS("192.0.2.20:8443"))
	canary := ok(t)(w.TCP("169.254.169.254:8080"))
	for name, test := range map[string]struct {
		behavior Behavior
		status   int
		failure  func(error) bool
	}{
		"healthy":      {Behavior{}, 200, nil},
		"status":       {Behavior{Status: 503}, 503, nil},
		"redirect":     {Behavior{Redirect: "http://169.254.169.254:8080/"}, 302, nil},
		"redirect 301": {Behavior{Redirect: "http://169.254.169.254:8080/", Status: 301}, 301, nil},
		"slow":         {Behavior{Delay: time.Minute}, 0, timedOut},
		"huge headers": {Behavior{Fault: HugeHeaders}, 0, func(err error) bool { return strings.Contains(err.Error(), "header") }},
		"huge body":    {Behavior{Fault: HugeBody}, 200, nil},
		"hang":         {Behavior{Fault: Hang}, 0, timedOut},
		"reset":        {Behavior{Fault: Reset}, 0, func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
		"refuse":       {Behavior{Fault: Refuse}, 0, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		"garbage": {Behavior{Fault: Garbage}, 0, func(err error) bool {
			var record tls.RecordHeaderError
			return strings.Contains(err.Error(), "malformed HTTP") || errors.As(err, &record)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for url, s := range map[string]*Server{"http://192.0.2.20:8080/health?x=1": plain, "https://192.0.2.20:8443/health?x=1": secure} {
				set(t, s, test.behavior)
				within := patience
				if name == "slow" || name == "hang" {
					within = moment
				}
				status, header, err := get(t, client(t, within, &tls.Config{RootCAs: w.CA.Pool()}), url)
				switch {
				case test.failure == nil && (err != nil || status != test.status || header.Get("Location") != test.behavior.Redirect):
					t.Errorf("%s: %d %v %v", url, status, header, err)
				case test.failure != nil && (err == nil || !test.failure(err)):
					t.Errorf("%s: %d %v", url, status, err)
				}
			}
		})
	}
	if n := canary.Counts().Connections; n != 0 {
		t.Errorf("the canary saw %d connections", n)
	}
}

func TestRequestsAreCountedWithWhatTheClientSaid(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.HTTPS("192.0.2.20:8443", "db.example.com"))
	c := client(t, patience, &tls.Config{RootCAs: w.CA.Pool(), ServerName: "db.example.com"})
	if status, _, err := get(t, c, "https://192.0.2.20:8443/health?x=1"); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	counts := s.Counts()
	if counts.Requests != 1 || len(counts.Latest) != 1 {
		t.Fatalf("counts: %+v", counts)
	}
	seen := counts.Latest[0]
	seen.Time = time.Time{}
	want := Request{Method: "GET", Host: "192.0.2.20:8443", Path: "/health?x=1", UserAgent: "test", ServerName: "db.example.com"}
	if seen != want {
		t.Errorf("seen %+v, want %+v", seen, want)
	}
}

func TestCertificatesAreGoodOrWrongInOneWay(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.HTTPS("192.0.2.20:8443", "db.example.com"))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(w.CA.PEM()) {
		t.Fatal("the authority's PEM holds no certificate")
	}
	for fault, wanted := range map[Fault]func(error) bool{
		Healthy: func(err error) bool { return err == nil },
		WrongName: func(err error) bool {
			var of x509.HostnameError
			return errors.As(err, &of)
		},
		Expired: func(err error) bool {
			var of x509.CertificateInvalidError
			return errors.As(err, &of) && of.Reason == x509.Expired
		},
		UnknownIssuer: func(err error) bool {
			var of x509.UnknownAuthorityError
			return errors.As(err, &of)
		},
	} {
		set(t, s, Behavior{Fault: fault})
		for _, name := range []string{"", "db.example.com"} {
			_, _, err := get(t, client(t, patience, &tls.Config{RootCAs: roots, ServerName: name}), "https://192.0.2.20:8443/")
			if !wanted(err) {
				t.Errorf("%s, asked for %q: %v", fault, name, err)
			}
		}
	}
}
