// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientca

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
)

// certificate makes one in PEM; the tests look at nothing but what it says of itself.
func certificate(t *testing.T, authority bool, lasts time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now(), NotAfter: time.Now().Add(lasts),
		IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func write(t *testing.T, path string, parts ...[]byte) {
	t.Helper()
	var text []byte
	for _, part := range parts {
		text = append(text, part...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFileOfAuthoritiesHoldsNothingElse(t *testing.T) {
	good := certificate(t, true, time.Hour)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret words")})
	for name, test := range map[string]struct {
		text []byte
		says string
	}{
		"nothing":       {nil, "holds no certificate"},
		"prose":         {[]byte("hello"), "holds no certificate"},
		"key":           {key, `type "PRIVATE KEY"`},
		"key after":     {slices.Concat(good, key), `type "PRIVATE KEY"`},
		"cut off":       {slices.Concat(good, good[:len(good)/2]), "text after certificate 1"},
		"not DER":       {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), "certificate 1 does not parse"},
		"no authority":  {slices.Concat(good, certificate(t, false, time.Hour)), "certificate 2 is of no authority"},
		"too large":     {slices.Concat(good, make([]byte, maxBytes)), "larger than"},
		"good":          {good, ""},
		"good, comment": {append([]byte("# ours\n"), good...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ca.crt")
			write(t, path, test.text)
			_, err := New(Options{Path: path})
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q", err, test.says)
			}
			if err != nil && (!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret words")) {
				t.Errorf("error is %v", err)
			}
		})
	}
	for _, path := range []string{"", filepath.Join(t.TempDir(), "absent")} {
		if _, err := New(Options{Path: path}); err == nil {
			t.Errorf("%q was read", path)
		}
	}
}

func TestTheFileIsFollowedAndJunkKeepsTheLastGoodAuthorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ca.crt")
		first, second := certificate(t, true, 2*time.Hour), certificate(t, true, time.Hour)
		write(t, path, first)
		registry := prometheus.NewRegistry()
		var lines []string
		f, err := New(Options{Path: path, Registerer: registry, Logger: funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		tick := func() {
			time.Sleep(interval) //nolint:forbidigo // the clock of the test's own bubble
			synctest.Wait()
		}
		began := f.Pool()
		tick()
		if f.Pool() != began {
			t.Error("the same text made another pool")
		}

		write(t, path, first, second)
		tick()
		both := f.Pool()
		if both.Equal(began) {
			t.Error("a second authority was not taken up")
		}
		if got, want := value(t, registry, "fairlead_webhook_client_ca_expiry_timestamp_seconds", ""), float64(time.Now().Add(time.Hour).Unix()); got > want || got < want-60 {
			t.Errorf("the first expires at %v, want %v", got, want)
		}

		write(t, path, first[:len(first)-20])
		tick()
		tick()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		tick()
		if f.Pool() != both {
			t.Error("junk, or nothing, replaced good authorities")
		}
		write(t, path, second)
		tick()
		if f.Pool().Equal(both) {
			t.Error("the file was not taken up after it was bad")
		}
		if got := value(t, registry, "fairlead_webhook_client_ca_reloads_total", changed); got != 2 {
			t.Errorf("%v changes were counted", got)
		}
		if got := value(t, registry, "fairlead_webhook_client_ca_reloads_total", failed); got != 2 {
			t.Errorf("%v failures were counted", got)
		}
		if len(lines) != 4 {
			t.Errorf("logged %d lines: %q", len(lines), lines)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}

// value returns that of a family for a result, or of one without labels.
func value(t *testing.T, g prometheus.Gatherer, family, result string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if labels := m.GetLabel(); f.GetName() == family && (len(labels) == 0 || labels[0].GetValue() == result) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no %s of %q", family, result)
	return 0
}
