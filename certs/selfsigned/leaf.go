// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"
)

// leaf is a serving certificate with the root that signed it.
type leaf struct {
	certificate *tls.Certificate
	signer      *root
	renewAt     time.Time
}

// isFresh says whether the leaf may be served on. A clock that was set back makes it stale too. One
// that lasts as long as its root is not renewed: another of the same root would not last longer.
func (l *leaf) isFresh(now time.Time) bool {
	until := l.renewAt
	if end := l.certificate.Leaf.NotAfter; !end.Before(l.signer.expiry()) {
		until = end
	}
	return now.Before(until) && !now.Before(l.certificate.Leaf.NotBefore)
}

// sign makes a serving certificate for the names, valid for a time from now, and never beyond the root.
// It is dated back to the root's own beginning: where this clock is ahead of the clients', or was set
// ahead and back, they would refuse what begins now.
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
