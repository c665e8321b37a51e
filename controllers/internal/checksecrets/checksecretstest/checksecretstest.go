// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checksecretstest has a Secret with certificates, for tests of what reads one.
package checksecretstest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Secrets is a reader of one Secret, or of an error.
type Secrets struct {
	client.Reader
	Data map[string][]byte
	Err  error
	// Reads is how often it was read.
	Reads int
}

// Get implements client.Reader.
func (s *Secrets) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.Reads++
	if secret, ok := into.(*corev1.Secret); ok {
		secret.Data = s.Data
	}
	return s.Err
}

// NewCertificate returns a certificate, as PEM.
func NewCertificate(t *testing.T) []byte {
	t.Helper()
	certificate, _ := NewPair(t)
	return certificate
}

// NewPair returns a certificate and its key, as PEM.
func NewPair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}
