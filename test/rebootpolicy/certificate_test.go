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
	"fmt"
	"math/big"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
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

func TestACertificateRestartsWhenItIsRenewedAndNotWhenItIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	cert, key := s.certificate(time.Hour)
	s.secret("tls", "tls.crt", cert, "tls.key", key)
	s.run(deployment, "web", bare)
	s.run(deployment, "marker", takes("tls"))
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: tls}}]}`)
	s.policy("all", "{"+targets(deployment, "marker")+", "+onConfig+"}")
	s.watching("p", 1)
	s.watching("all", 1)

	// The same certificate, written otherwise, with an issuer after it and another CA beside it.
	issuer, _ := s.certificate(24 * time.Hour)
	s.secret("tls", "tls.crt", "subject=/CN=shop\n"+cert+issuer, "tls.key", key, "ca.crt", issuer)
	s.succeeded("all", 1)
	s.Never(func() error { return s.quiet("p", 0) })

	// What is no certificate tells nothing.
	s.secret("tls", "tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "tls.key", key)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.Triggers) != 1 || st.Triggers[0].State != autorebootv1.TriggerUnknown || st.Triggers[0].Reason == "" {
			return fmt.Errorf("want the trigger Unknown, with a reason")
		}
		return nil
	})
	s.succeeded("all", 2)
	s.Must(s.quiet("p", 0))

	renewed, key := s.certificate(2 * time.Hour)
	s.secret("tls", "tls.crt", renewed, "tls.key", key)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
