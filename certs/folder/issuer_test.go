// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
)

const serverName = "fairlead-webhook.fairlead-system.svc"

// files are the content of a folder by file name.
type files map[string][]byte

// issuer signs certificates for tests.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newIssuer(t *testing.T, parent *issuer) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "issuer"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	made := &issuer{key: key}
	if parent == nil {
		parent = &issuer{template, key}
	}
	made.certificate = signed(t, template, parent, key)
	return made
}

// files are a certificate of the issuer for the span around now.
func (i *issuer) files(t *testing.T, from, to time.Duration) files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := signed(t, &x509.Certificate{
		DNSNames:  []string{serverName},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, i, key)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return files{
		certs.CertKey:    certs.EncodeCertificates(leaf),
		certs.PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		certs.CAKey:      certs.EncodeCertificates(i.certificate),
	}
}

func signed(t *testing.T, template *x509.Certificate, parent *issuer, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// mount puts the files where the kubelet would: in a folder of their own, to which ..data is
// swapped, with one link per file through it.
func mount(t *testing.T, path string, content files) {
	t.Helper()
	generation, err := os.MkdirTemp(path, "..generation")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		write(t, filepath.Join(generation, name), text)
	}
	link := filepath.Join(path, "..data_tmp")
	if err := os.Symlink(filepath.Base(generation), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(path, "..data")); err != nil {
		t.Fatal(err)
	}
	for name := range content {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
