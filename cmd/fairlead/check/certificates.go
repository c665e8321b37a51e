// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// client is where an API server finds a webhook, and whom it trusts there.
type client struct {
	object             string // that holds it
	webhook            string // its name, where the object has several
	namespace, service string
	port               int32
	bundle             []byte
}

// clients are those of the conversion webhooks and of the configurations.
func (r *run) clients() (all []client) {
	for _, d := range r.definitions {
		if service := d.service(); service != nil {
			all = append(all, client{d.object(), "", service.Namespace, service.Name, ptr.Deref(service.Port, 443),
				d.crd.Spec.Conversion.Webhook.ClientConfig.CABundle})
		}
	}
	for _, c := range r.configurations {
		for _, h := range c.hooks {
			if service := h.ClientConfig.Service; service != nil {
				all = append(all, client{c.object, h.Name, service.Namespace, service.Name, ptr.Deref(service.Port, 443), h.ClientConfig.CABundle})
			}
		}
	}
	return all
}

// checkCertificates checks what is served, and that every API server trusts it.
func (r *run) checkCertificates(ctx context.Context) {
	d, found := r.serving()
	if !found {
		return
	}
	authorities := r.checkSecret(ctx, d)
	clients := r.clients()
	reported := map[string]bool{}
	var sound *client
	for i := range clients {
		c := &clients[i]
		result := r.checkBundle(c, authorities)
		if result.Status == OK && sound == nil {
			sound = c
		}
		if result.Status == OK && string(c.bundle) != string(sound.bundle) {
			result.Status, result.Message = Warning, "its CA bundle differs from that of "+sound.object
			result.Remedy = "wait for the rotation of the authority to end, or look for another writer of caBundle among the managedFields"
		}
		// The webhooks of a configuration rarely differ: one line for the object, or one for each that is not sound.
		if result.Status == OK && reported[c.object] {
			continue
		}
		reported[c.object] = true
		r.results = append(r.results, result)
	}
	if sound != nil {
		r.checkServed(ctx, sound)
	}
}

// checkBundle checks whom API servers trust, and that the authorities are among these.
func (r *run) checkBundle(c *client, authorities []*x509.Certificate) Result {
	result := Result{CheckCABundle, c.object, OK, "", ""}
	about := "its CA bundle"
	if c.webhook != "" {
		about = "the CA bundle of webhook " + c.webhook
	}
	fail := func(message string) Result {
		result.Status, result.Message = Failed, message
		result.Remedy = "look at the log of the operator, which writes it, or of the component that does with webhook.certificates.injectCA: false"
		return result
	}
	if len(c.bundle) == 0 {
		return fail(about + " is empty")
	}
	trusted, err := pemfile.ParseCertificates(c.bundle)
	if err != nil {
		return fail(about + ": " + brief(err))
	}
	now, last := r.options.Clock.Now(), time.Time{}
	for _, one := range trusted {
		if now.After(one.NotBefore) && one.NotAfter.After(last) {
			last = one.NotAfter
		}
	}
	switch {
	case !last.After(now):
		return fail(about + " holds no authority that is valid now")
	case !certs.TrustsAll(c.bundle, authorities):
		return fail(about + " lacks the authority of the serving certificate")
	}
	result.Message = fmt.Sprintf("its CA bundle is valid for %s", remaining(now, last))
	return result
}

// remaining words how long is left.
func remaining(now, until time.Time) string {
	left := until.Sub(now)
	if left < 48*time.Hour {
		return string(common.DurationOf(left.Round(time.Minute)))
	}
	return fmt.Sprintf("%d days", int(left/(24*time.Hour)))
}

// checkSecret checks the Secret of the certificate source, and returns whom clients must trust; nil where that is
// not known.
func (r *run) checkSecret(ctx context.Context, d deployment) []*x509.Certificate {
	certificates := d.configuration.Webhook.Certificates
	name, serving := certificates.SecretName, false
	switch certificates.Source {
	case options.SourceFolder:
		r.add(CheckCertificate, d.object(), Skipped, "its certificate is in a folder of its pods", "")
		return nil
	case options.SourceCertManager:
		name, serving = certificates.CertManager.SecretName, true
	}
	object := "Secret " + r.namespace + "/" + name
	secret, err := r.options.Kubernetes.CoreV1().Secrets(r.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		result := unread(CheckCertificate, object, "get on secrets"+in(r.namespace), err,
			fmt.Sprintf("look at `kubectl -n %s logs deployment/%s`", d.Namespace, d.Name))
		if result.Status == Unchecked { // it holds a private key, which few should read
			result.Status, result.Message, result.Remedy = Skipped, "you have no permission to read it; the dry runs show whether its authority is trusted", ""
		}
		r.results = append(r.results, result)
		return nil
	}
	chain, err := pemfile.ParseCertificates(secret.Data[certs.CertKey])
	if err != nil {
		r.add(CheckCertificate, object, Failed, certs.CertKey+": "+brief(err), "delete the Secret: a new one is issued")
		return nil
	}
	if !serving {
		r.results = append(r.results, r.checkValidity(object, "the authority", chain[0], 20))
		return chain[:1]
	}
	result := r.checkValidity(object, "the serving certificate", chain[0], 6)
	server := d.configuration.Service.Name + "." + r.namespace + ".svc"
	if err := chain[0].VerifyHostname(server); err != nil && result.Status != Failed {
		result.Status, result.Message, result.Remedy = Failed, brief(err),
			"correct spec.dnsNames of Certificate "+certificates.CertManager.Certificate
	}
	var authorities []*x509.Certificate // none where the issuer knows no root
	if text := secret.Data[certs.CAKey]; len(text) > 0 && result.Status != Failed {
		if authorities, err = pemfile.ParseCertificates(text); err != nil {
			result.Status, result.Message, result.Remedy = Failed, certs.CAKey+": "+brief(err), "delete the Secret: cert-manager issues it again"
		}
	}
	r.results = append(r.results, result)
	return authorities
}

// checkValidity checks that a certificate is valid, and was renewed before the last part of its life, such as a
// sixth.
func (r *run) checkValidity(object, what string, certificate *x509.Certificate, part time.Duration) Result {
	now := r.options.Clock.Now()
	result := Result{CheckCertificate, object, OK, what + " is valid for " + remaining(now, certificate.NotAfter), ""}
	switch {
	case now.After(certificate.NotAfter):
		result.Status, result.Message = Failed, what+" has expired at "+certificate.NotAfter.Format(time.RFC3339)
	case now.Before(certificate.NotBefore):
		result.Status, result.Message = Failed, what+" is valid from "+certificate.NotBefore.Format(time.RFC3339)+" only"
	case certificate.NotAfter.Sub(now) < certificate.NotAfter.Sub(certificate.NotBefore)/part:
		result.Status, result.Message = Warning, what+" was not renewed in time: it is valid for "+remaining(now, certificate.NotAfter)
	default:
		return result
	}
	result.Remedy = "look at the log of the operator, and at the clocks"
	return result
}

// checkServed looks at the certificate that the Service serves, where it can be reached.
func (r *run) checkServed(ctx context.Context, c *client) {
	object := "Service " + c.namespace + "/" + c.service
	if r.options.Dial == nil {
		r.add(CheckCertificate, object, Skipped, "only a pod of the cluster sees the certificate that it serves; `helm test` runs one", "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	server := c.service + "." + c.namespace + ".svc"
	certificate, err := r.handshake(ctx, server, strconv.Itoa(int(c.port)), c.bundle)
	if err != nil {
		r.add(CheckCertificate, object, Failed, "it cannot be reached over TLS: "+brief(err), "look at its endpoints, and at network policies")
		return
	}
	r.results = append(r.results, r.checkValidity(object, "the serving certificate", certificate, 6))
}

// handshake connects, verifies by the bundle, and returns the serving certificate.
func (r *run) handshake(ctx context.Context, server, port string, bundle []byte) (*x509.Certificate, error) {
	raw, err := r.options.Dial(ctx, "tcp", net.JoinHostPort(server, port))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	connection := tls.Client(raw, &tls.Config{ServerName: server, RootCAs: roots, MinVersion: tls.VersionTLS12, Time: r.options.Clock.Now})
	err = connection.HandshakeContext(ctx)
	state := connection.ConnectionState()
	err = errors.Join(err, raw.Close())
	if err != nil || len(state.PeerCertificates) == 0 {
		return nil, errors.Join(err, errors.New("no certificate was served"))
	}
	return state.PeerCertificates[0], nil
}
