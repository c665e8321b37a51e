// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// certificate makes a new one that ends some time from now, and its key, in PEM.
func (s *suite) certificate(until time.Duration) (cert, key string) {
	s.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.Must(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	s.Must(err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "shop"}, DNSNames: []string{"shop.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(until),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	s.Must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	s.Must(err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
