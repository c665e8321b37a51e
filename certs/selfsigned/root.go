// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
)

// maxFormerRoots bounds how many former roots stay trusted beside the one that signs.
const maxFormerRoots = 4

// root is a certificate that signs, and its key.
type root struct {
	chain []*x509.Certificate // the first one signs
	key   crypto.Signer
}

func (r *root) certificate() *x509.Certificate { return r.chain[0] }

func (r *root) expiry() time.Time { return r.certificate().NotAfter }

// createRoot makes a root on a curve that is valid from now.
func createRoot(curve elliptic.Curve, now time.Time, validity, skew time.Duration) (*root, error) {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the root's key: %w", err)
	}
	// Serial number and subject key identifier are left to x509, which draws the one at random
	// and derives the other from the key: authorities that reuse them cannot be told apart.
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "fairlead-webhook-ca", Organization: []string{"fairlead.dev"}},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	certificate, err := create(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the root: %w", err)
	}
	return &root{chain: []*x509.Certificate{certificate}, key: key}, nil
}

// pair is the root as a Secret holds it.
func (r *root) pair() (certificate, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(r.key)
	if err != nil {
		return nil, nil, fmt.Errorf("write the root's key: %w", err)
	}
	return certs.EncodeCertificates(r.chain...), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func create(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
