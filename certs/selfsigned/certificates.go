// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
)

// maxFormerRoots bounds the previous roots that stay trusted.
const maxFormerRoots = 8

// root is a certificate that signs, and its key.
type root struct {
	chain []*x509.Certificate // the first one signs
	key   crypto.Signer
}

func (r *root) certificate() *x509.Certificate { return r.chain[0] }

func (r *root) expiry() time.Time { return r.certificate().NotAfter }

// createRoot creates a root that is valid from now, and was for as long as it is backdated.
func createRoot(curve elliptic.Curve, now time.Time, validity, backdate time.Duration) (*root, error) {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the root's key: %w", err)
	}
	// x509 draws the serial number at random and derives the subject key identifier from the key:
	// authorities that reuse them cannot be distinguished.
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "fairlead-webhook-ca", Organization: []string{"fairlead.dev"}},
		NotBefore:             now.Add(-backdate),
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

// pair returns the root in the form of a TLS Secret.
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

// leaf is a serving certificate with the root that signed it.
type leaf struct {
	certificate *tls.Certificate
	signer      *root
	renewAt     time.Time
}

// isFresh reports whether the leaf may still be served. It is not where the clock was set back. A leaf that
// expires with its root is not renewed, since another one would expire at the same time.
func (l *leaf) isFresh(now time.Time) bool {
	until := l.renewAt
	if end := l.certificate.Leaf.NotAfter; !end.Before(l.signer.expiry()) {
		until = end
	}
	return now.Before(until) && !now.Before(l.certificate.Leaf.NotBefore)
}

// sign creates a serving certificate for the names, valid from now for a time but never beyond the root.
// It is backdated to the root's own beginning: clients whose clocks are late, or a clock that was set back,
// would otherwise refuse it.
func sign(signer *root, names []string, now time.Time, validity time.Duration) (*leaf, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the serving key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("identify the serving key: %w", err)
	}
	identifier := sha256.Sum256(public)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "fairlead-webhook", Organization: []string{"fairlead.dev"}},
		NotBefore:             signer.certificate().NotBefore,
		NotAfter:              earlier(now.Add(validity), signer.expiry()),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		SubjectKeyId:          identifier[:20],
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	certificate, err := create(template, signer.certificate(), key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("sign the serving certificate: %w", err)
	}
	served := &tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}
	for _, link := range signer.chain {
		if link.CheckSignatureFrom(link) != nil { // an intermediate: clients may know its root only
			served.Certificate = append(served.Certificate, link.Raw)
		}
	}
	life := certificate.NotAfter.Sub(now)
	return &leaf{certificate: served, signer: signer, renewAt: now.Add(life * 2 / 3)}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
