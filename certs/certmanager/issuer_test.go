// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
)

const serverName = "fairlead-webhook.fairlead-system.svc"

// start is when the tests take place: when time begins in a bubble of testing/synctest.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// authority signs certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "authority"},
		NotBefore: start.Add(-time.Hour), NotAfter: start.Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	made := &authority{certificate: template, key: newKey(t)}
	made.certificate = made.sign(t, template, made.key)
	return made
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// issue is the content of a Secret with a certificate that expires at a time.
func (a *authority) issue(t *testing.T, expires time.Time) map[string][]byte {
	t.Helper()
	key := newKey(t)
	leaf := a.sign(t, &x509.Certificate{
		DNSNames:  []string{serverName},
		NotBefore: start.Add(-time.Hour), NotAfter: expires,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		certs.CertKey:    certs.EncodeCertificates(leaf),
		certs.PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		certs.CAKey:      certs.EncodeCertificates(a.certificate),
	}
}

// pair returns the key pair that the data holds.
func pair(t *testing.T, data map[string][]byte) *keypair.Pair {
	t.Helper()
	found, err := keypair.Parse(keypair.Contents{Certificate: data[certs.CertKey], Key: data[certs.PrivateKey], CA: data[certs.CAKey]}, serverName, start)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
