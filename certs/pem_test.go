// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
)

func newCertificate(t *testing.T) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func TestEncodeCertificatesWritesEachOnceInOrder(t *testing.T) {
	one, _ := newCertificate(t)
	two, _ := newCertificate(t)
	if got := EncodeCertificates(one, two, one); !bytes.Equal(got, EncodeCertificates(one, two)) {
		t.Error("a certificate is there twice")
	}
	if got := EncodeCertificates(two, one); bytes.Equal(got, EncodeCertificates(one, two)) {
		t.Error("the order is lost")
	}
	if got := EncodeCertificates(); len(got) != 0 {
		t.Errorf("nothing encodes to %q", got)
	}
}

func TestParseKeyReadsTheUsualForms(t *testing.T) {
	_, elliptic := newCertificate(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	factors, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	sec1, err := x509.MarshalECPrivateKey(elliptic)
	if err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct {
		block string
		der   []byte
		want  crypto.Signer
	}{
		"PKCS #8 ECDSA":   {"PRIVATE KEY", pkcs8(elliptic), elliptic},
		"PKCS #8 Ed25519": {"PRIVATE KEY", pkcs8(edwards), edwards},
		"PKCS #8 RSA":     {"PRIVATE KEY", pkcs8(factors), factors},
		"PKCS #1":         {"RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(factors), factors},
		"SEC 1":           {"EC PRIVATE KEY", sec1, elliptic},
		"junk":            {"PRIVATE KEY", []byte("junk"), nil},
		"encrypted":       {"ENCRYPTED PRIVATE KEY", pkcs8(elliptic), nil},
	} {
		parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{1}})
		got, err := ParseKey(append(parameters, pem.EncodeToMemory(&pem.Block{Type: test.block, Bytes: test.der})...))
		if (err == nil) != (test.want != nil) {
			t.Errorf("%s: %v", title, err)
		}
		if test.want != nil && err == nil && !got.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(test.want.Public()) {
			t.Errorf("%s: another key", title)
		}
	}
}

func TestMatchesTellsAKeyFromAnother(t *testing.T) {
	one, key := newCertificate(t)
	_, other := newCertificate(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if !Matches(one, key) || Matches(one, other) || Matches(one, edwards) {
		t.Error("keys and certificates are mixed up")
	}
}
