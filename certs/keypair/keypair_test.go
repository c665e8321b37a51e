// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package keypair

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
)

const serverName = "fairlead-webhook.fairlead-system.svc"

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// signer is a certificate with its key.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// make signs a certificate that is valid around now, changed as the test wants; a nil parent lets it
// sign itself.
func (s *signer) make(t *testing.T, change func(*x509.Certificate)) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "x"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	change(template)
	parent := s
	if parent == nil {
		parent = &signer{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{made, key}
}

func authority(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
}

func serving(c *x509.Certificate) {
	c.DNSNames, c.ExtKeyUsage = []string{serverName}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
}

func (s *signer) contents(t *testing.T, roots ...*x509.Certificate) Contents {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	return Contents{
		Certificate: certs.EncodeCertificates(s.certificate),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		CA:          certs.EncodeCertificates(roots...),
	}
}

func TestWhatClientsWouldRefuseIsNamedByItsKey(t *testing.T) {
	root := (*signer)(nil).make(t, authority)
	middle := root.make(t, authority)
	for title, test := range map[string]struct {
		contents Contents
		want     string
	}{
		"good":                {root.make(t, serving).contents(t, root.certificate), ""},
		"no root":             {root.make(t, serving).contents(t), ""},
		"any usage":           {root.make(t, func(c *x509.Certificate) { c.DNSNames = []string{serverName} }).contents(t, root.certificate), ""},
		"for clients":         {root.make(t, func(c *x509.Certificate) { serving(c); c.ExtKeyUsage[0] = x509.ExtKeyUsageClientAuth }).contents(t, root.certificate), "ca.crt: clients that trust it would refuse tls.crt"},
		"for another name":    {root.make(t, func(c *x509.Certificate) { serving(c); c.DNSNames[0] = "other.svc" }).contents(t, root.certificate), "issue it for that name"},
		"expired":             {root.make(t, func(c *x509.Certificate) { serving(c); c.NotAfter = now.Add(-time.Minute) }).contents(t, root.certificate), "tls.crt: expired at"},
		"not valid yet":       {root.make(t, func(c *x509.Certificate) { serving(c); c.NotBefore = now.Add(time.Minute) }).contents(t, root.certificate), "check the clocks"},
		"of another root":     {root.make(t, serving).contents(t, (*signer)(nil).make(t, authority).certificate), "would refuse tls.crt"},
		"intermediate absent": {middle.make(t, serving).contents(t, root.certificate), "would refuse tls.crt"},
	} {
		found, err := Parse(test.contents, serverName, now)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", title, err, test.want)
		}
		if err == nil && (found.Bundle == nil) != (len(test.contents.CA) == 0) {
			t.Errorf("%s: bundle %q", title, found.Bundle)
		}
	}
}

func TestAnIntermediateThatChangesAloneIsAnotherPair(t *testing.T) {
	root := (*signer)(nil).make(t, authority)
	middle := root.make(t, authority)
	contents := middle.make(t, serving).contents(t, root.certificate, middle.certificate)
	short, err := Parse(contents, serverName, now)
	if err != nil {
		t.Fatal(err)
	}
	contents.Certificate = append(contents.Certificate, certs.EncodeCertificates(middle.certificate)...)
	long, err := Parse(contents, serverName, now)
	if err != nil {
		t.Fatal(err)
	}
	if short.Same(long) || !long.Same(long) {
		t.Error("chains of different lengths are taken for the same")
	}
	if long.VerifyAgainst([]*x509.Certificate{root.certificate}, now) != nil || short.VerifyAgainst([]*x509.Certificate{root.certificate}, now) == nil {
		t.Error("the intermediate makes no difference to who is accepted")
	}
}

func TestTheFirstRootToExpireCounts(t *testing.T) {
	root := (*signer)(nil).make(t, authority)
	longer := (*signer)(nil).make(t, func(c *x509.Certificate) { authority(c); c.NotAfter = now.Add(9 * time.Hour) })
	found, err := Parse(root.make(t, serving).contents(t, longer.certificate, root.certificate), serverName, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := found.RootExpiry(); !got.Equal(root.certificate.NotAfter) {
		t.Errorf("expires %s", got)
	}
	if found, err = Parse(root.make(t, serving).contents(t), serverName, now); err != nil || !found.RootExpiry().IsZero() {
		t.Errorf("without a root: %v", err)
	}
}

// A key of P-224 parses and belongs to its certificate, and each handshake with it fails.
func TestAPairThatTLSCannotServeIsRefused(t *testing.T) {
	root := (*signer)(nil).make(t, authority)
	for name, test := range map[string]struct {
		curve elliptic.Curve
		want  string
	}{
		"P-224": {elliptic.P224(), "tls.key: no client can be served with it"},
		"P-256": {elliptic.P256(), ""},
		"P-384": {elliptic.P384(), ""},
		"P-521": {elliptic.P521(), ""},
	} {
		key, err := ecdsa.GenerateKey(test.curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{Subject: pkix.Name{CommonName: "x"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
		serving(template)
		der, err := x509.CreateCertificate(rand.Reader, template, root.certificate, key.Public(), root.key)
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse((&signer{certificate, key}).contents(t, root.certificate), serverName, now)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
