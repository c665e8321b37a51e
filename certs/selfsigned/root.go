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

// root is what the Secret holds: the certificate that signs, its key, and who is trusted.
type root struct {
	chain   []*x509.Certificate // tls.crt; the first one signs
	key     crypto.Signer       // tls.key
	trusted []*x509.Certificate // ca.crt
}

func (r *root) certificate() *x509.Certificate { return r.chain[0] }

// bundle is what clients must trust. The root that signs comes first and is always there.
func (r *root) bundle() []byte { return certs.EncodeCertificates(r.trusts()...) }

func (r *root) trusts() []*x509.Certificate {
	return append(append([]*x509.Certificate{}, r.chain...), r.trusted...)
}

// due says whether the root must be replaced: nine tenths of its life have passed.
func (r *root) due(now time.Time) bool {
	certificate := r.certificate()
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return now.After(certificate.NotAfter.Add(-life / 10))
}

// mint makes a root that is valid from now. The former roots that have not expired stay trusted
// beside it, so that certificates which other replicas serve outlive the change.
func mint(now time.Time, validity time.Duration, former []*x509.Certificate) (*root, error) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
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
	made := &root{chain: []*x509.Certificate{certificate}, key: key, trusted: []*x509.Certificate{certificate}}
	for _, one := range former {
		if len(made.trusted) <= maxFormerRoots && now.Before(one.NotAfter) && !certs.Contains(made.trusted, one) {
			made.trusted = append(made.trusted, one)
		}
	}
	return made, nil
}

// data is the root as the Secret holds it.
func (r *root) data() (map[string][]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(r.key)
	if err != nil {
		return nil, fmt.Errorf("write the root's key: %w", err)
	}
	return map[string][]byte{
		certs.CertKey:    certs.EncodeCertificates(r.chain...),
		certs.PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		certs.CAKey:      r.bundle(),
	}, nil
}

func create(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
