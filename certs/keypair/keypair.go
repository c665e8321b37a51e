// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package keypair

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// Contents are the keys of a TLS Secret. CA is empty where the issuer knows no root.
type Contents struct{ Certificate, Key, CA []byte }

// Pair is a serving certificate with the authorities that clients must trust to accept it.
type Pair struct {
	Served *tls.Certificate    // with its leaf and the whole chain
	Roots  []*x509.Certificate // nil where there is no ca.crt
	Bundle []byte              // Roots as PEM; nil where there is no ca.crt
}

// Same compares the whole chain and the roots: an intermediate may be replaced alone.
func (p *Pair) Same(other *Pair) bool {
	equal := func(a, b []byte) bool { return string(a) == string(b) }
	return slices.EqualFunc(p.Served.Certificate, other.Served.Certificate, equal) && equal(p.Bundle, other.Bundle)
}

// RootExpiry is when the first of the roots expires; zero where there is no ca.crt.
func (p *Pair) RootExpiry() time.Time {
	var first time.Time
	for _, one := range p.Roots {
		if first.IsZero() || one.NotAfter.Before(first) {
			first = one.NotAfter
		}
	}
	return first
}

// VerifyAgainst returns why clients that trust the roots would refuse the certificate, or nil.
func (p *Pair) VerifyAgainst(roots []*x509.Certificate, now time.Time) error {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now}
	for _, one := range roots {
		options.Roots.AddCert(one)
	}
	for _, raw := range p.Served.Certificate[1:] {
		if one, err := x509.ParseCertificate(raw); err == nil { // they were parsed before
			options.Intermediates.AddCert(one)
		}
	}
	_, err := p.Served.Leaf.Verify(options)
	return err
}

// TrustedBy returns the authorities that are each sufficient for clients to accept the certificate. It returns an error if
// clients do not accept it.
func (p *Pair) TrustedBy(authorities []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	if err := p.VerifyAgainst(authorities, now); err != nil {
		return nil, err
	}
	var found []*x509.Certificate
	for _, one := range authorities {
		if p.VerifyAgainst([]*x509.Certificate{one}, now) == nil {
			found = append(found, one)
		}
	}
	return found, nil
}

// Parse returns the pair if a client that connects to serverName could be served. An empty name is not
// compared.
func Parse(c Contents, serverName string, now time.Time) (*Pair, error) {
	chain, err := pemfile.ParseCertificates(c.Certificate)
	if err != nil {
		return nil, keyError(certs.CertKey, "%w: it must hold the serving certificate and its intermediates as PEM", err)
	}
	key, err := certs.ParseKey(c.Key)
	if err != nil {
		return nil, keyError(certs.PrivateKey, "%w: it must hold the key of %s as PEM, not encrypted", err, certs.CertKey)
	}
	leaf := chain[0]
	if !certs.Matches(leaf, key) {
		return nil, keyError(certs.PrivateKey, "does not belong to the first certificate of %s: both must come from one issue, with the serving certificate first", certs.CertKey)
	}
	if now.After(leaf.NotAfter) {
		return nil, keyError(certs.CertKey, "expired at %s: renew it, or look at why its issuer does not", leaf.NotAfter.Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return nil, keyError(certs.CertKey, "is valid from %s only, and here it is %s: check the clocks", leaf.NotBefore.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if serverName != "" {
		if err := leaf.VerifyHostname(serverName); err != nil {
			return nil, keyError(certs.CertKey, "%w: issue it for that name", err)
		}
	}
	found := &Pair{Served: &tls.Certificate{PrivateKey: key, Leaf: leaf}}
	for _, one := range chain {
		found.Served.Certificate = append(found.Served.Certificate, one.Raw)
	}
	if err := Handshake(found.Served, nil, serverName, now); err != nil {
		return nil, keyError(certs.PrivateKey, "no client can be served with it: %w: issue the certificate for another kind of key, such as ECDSA P-256 or RSA of 2048 bits", err)
	}
	if len(c.CA) == 0 { // issuers without a known root leave it empty
		return found, nil
	}
	found.Roots, err = pemfile.ParseCertificates(c.CA)
	if err != nil {
		return nil, keyError(certs.CAKey, "%w: it must hold the authorities that clients trust as PEM, or be absent", err)
	}
	if err := found.VerifyAgainst(found.Roots, now); err != nil {
		return nil, keyError(certs.CAKey, "clients that trust it would refuse %s: %w: both must come from one issue", certs.CertKey, err)
	}
	found.Bundle = certs.EncodeCertificates(found.Roots...)
	return found, nil
}

func keyError(key, format string, a ...any) error {
	return fmt.Errorf("%s: %w", key, fmt.Errorf(format, a...))
}
