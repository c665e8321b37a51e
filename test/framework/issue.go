// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// Issue makes a serving certificate for a name that expires in a time, from a root of its own: the content of a certificate
// folder by file name.
func Issue(expires time.Duration, name string) (map[string]string, error) {
	rootKey, rootErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(rootErr, err); err != nil {
		return nil, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, rootErr := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	leafDER, leafErr := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(expires),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, root, key.Public(), rootKey)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return map[string]string{
		"tls.crt": encode("CERTIFICATE", leafDER), "tls.key": encode("PRIVATE KEY", keyDER), "ca.crt": encode("CERTIFICATE", rootDER),
	}, errors.Join(rootErr, leafErr, err)
}
