// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// The reasons for which a caller is refused, as values of the metric's label.
const (
	withoutCertificate = "none"
	expiredCertificate = "expired"
	untrustedSignature = "untrusted"
	otherName          = "name"
)

// complainEvery is how often the same reason is logged. Any client that reaches the port can cause each of them.
const complainEvery = time.Hour

// maxNamed bounds the text of a certificate that a log line repeats, in bytes.
const maxNamed = 253

// errCaller marks a refused certificate in net/http's error about a handshake.
var errCaller = errors.New("the caller is refused")

// clientAuth decides who may call. It verifies the certificate of a caller in the handshake, and again at each request:
// a removed authority then counts on open connections too. A caller without a certificate may use only the anonymous
// paths. Conversion needs such a path: the API server cannot present a certificate there
// (k8s.io/apiextensions-apiserver/pkg/apiserver/conversion, newWebhookConverterFactory).
type clientAuth struct {
	authorities func() *x509.CertPool
	names       []string
	anonymous   []string
	now         func() time.Time
	log         logr.Logger
	refused     *prometheus.CounterVec

	mu   sync.Mutex
	said map[string]complaint // by reason; there are four
}

type complaint struct {
	at      time.Time
	leftOut int
}

// newClientAuth returns nil if callers need no certificate.
func newClientAuth(o Options, now func() time.Time, refused *prometheus.CounterVec) *clientAuth {
	if o.ClientCAs == nil {
		return nil
	}
	for _, reason := range []string{withoutCertificate, expiredCertificate, untrustedSignature, otherName} {
		refused.WithLabelValues(reason)
	}
	return &clientAuth{
		authorities: o.ClientCAs, names: o.ClientNames, anonymous: o.Anonymous, now: now,
		log: o.Logger, refused: refused, said: map[string]complaint{},
	}
}

// configure makes the handshake ask for a certificate. clientAuth verifies it instead of crypto/tls, which would not
// return the reason. Sessions are not resumed: the certificate of a resumed one would not be verified.
func (c *clientAuth) configure(config *tls.Config) {
	if c == nil {
		return
	}
	config.ClientAuth = tls.RequestClientCert
	config.SessionTicketsDisabled = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return nil
		}
		if reason, err := c.verify(state.PeerCertificates); err != nil {
			c.logRefusal(reason, err)
			return fmt.Errorf("%w: %w", errCaller, err)
		}
		return nil
	}
}

// authorize returns nil if a request may be processed.
func (c *clientAuth) authorize(r *http.Request, path string) error {
	if c == nil || slices.Contains(c.anonymous, path) {
		return nil
	}
	reason, err := withoutCertificate, errors.New(
		"the webhooks answer only callers with a client certificate, and none was presented; give the API server one in the kubeconfig of its WebhookAdmissionConfiguration")
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		reason, err = c.verify(r.TLS.PeerCertificates)
	}
	if err != nil {
		c.logRefusal(reason, err)
	}
	return err
}

// verify returns what is wrong with a certificate, and the reason for the metric.
func (c *clientAuth) verify(chain []*x509.Certificate) (reason string, err error) {
	leaf, intermediates := chain[0], x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	roots := c.authorities()
	if roots == nil {
		roots = x509.NewCertPool() // a nil pool would mean the system's roots
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: c.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	named := fmt.Sprintf("%.*q", maxNamed, leaf.Subject.CommonName)
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return expiredCertificate, fmt.Errorf("the client certificate %s is not valid now: it lasts from %s to %s; renew it, or look at the clocks",
			named, leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339))
	case err != nil:
		return untrustedSignature, fmt.Errorf("the client certificate %s is not good for an authority of webhook.clients.caFile: %w", named, err)
	case len(c.names) > 0 && !slices.Contains(c.names, leaf.Subject.CommonName) && !slices.ContainsFunc(leaf.DNSNames, c.named):
		return otherName, fmt.Errorf("the client certificate %s has none of the names in webhook.clients.names", named)
	}
	return "", nil
}

func (c *clientAuth) named(name string) bool { return slices.Contains(c.names, name) }

// logRefusal counts a refusal. It logs the first one for each reason in an hour.
func (c *clientAuth) logRefusal(reason string, err error) {
	c.refused.WithLabelValues(reason).Inc()
	c.mu.Lock()
	defer c.mu.Unlock()
	last, now := c.said[reason], c.now()
	if since := now.Sub(last.at); !last.at.IsZero() && since >= 0 && since < complainEvery {
		last.leftOut++
		c.said[reason] = last
		return
	}
	c.said[reason] = complaint{at: now}
	c.log.Info("A caller of the webhooks was refused", "reason", reason, "error", err.Error(), "leftOutBefore", last.leftOut)
}
