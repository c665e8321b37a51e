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
	"slices"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// serving returns a Deployment that serves webhooks; false where there is none.
func (r *run) serving() (deployment, bool) {
	i := slices.IndexFunc(r.deployments, func(d deployment) bool { return d.configuration.Webhook.Enabled })
	if i < 0 {
		return deployment{}, false
	}
	return r.deployments[i], true
}

// client is where an API server finds a webhook, and whom it trusts there.
type client struct {
	object             string // that holds it
	webhook            string // its name, where the object has several
	namespace, service string
	port               int32
	bundle             []byte
}

// hook is a webhook of either kind of configuration.
type hook struct {
	name         string
	rules        []admissionregistrationv1.RuleWithOperations
	selector     *metav1.LabelSelector
	clientConfig admissionregistrationv1.WebhookClientConfig
	ignored      bool // where it does not respond
}

// configuration is one of the two webhook configurations.
type configuration struct {
	object string
	hooks  []hook
}

// clients are those of the conversion webhooks and of the configurations.
func (r *run) clients() (all []client) {
	for _, d := range r.definitions {
		if service := d.service(); service != nil {
			all = append(all, client{d.object(), "", service.Namespace, service.Name, ptr.Deref(service.Port, 443), d.crd.Spec.Conversion.Webhook.ClientConfig.CABundle})
		}
	}
	for _, c := range r.configurations {
		for _, h := range c.hooks {
			if service := h.clientConfig.Service; service != nil {
				all = append(all, client{c.object, h.name, service.Namespace, service.Name, ptr.Deref(service.Port, 443), h.clientConfig.CABundle})
			}
		}
	}
	return all
}

// checkWebhooks checks that the webhook configurations are there, cover all kinds, and lead to the operator.
func (r *run) checkWebhooks(ctx context.Context) {
	d, found := r.serving()
	if !found {
		return
	}
	hooks := r.Kubernetes.AdmissionregistrationV1()
	const missing = "apply the manifests of this installation"
	name := d.configuration.Webhook.MutatingConfiguration
	object := "MutatingWebhookConfiguration " + name
	if read, err := hooks.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{}); err != nil {
		r.results = append(r.results, unread(CheckWebhooks, object, "get on mutatingwebhookconfigurations.admissionregistration.k8s.io", err, missing))
	} else {
		c := configuration{object: object}
		for _, h := range read.Webhooks {
			c.hooks = append(c.hooks, hook{h.Name, h.Rules, h.NamespaceSelector, h.ClientConfig, ignores(h.FailurePolicy)})
		}
		r.checkConfiguration(c, d)
	}
	name = d.configuration.Webhook.ValidatingConfiguration
	object = "ValidatingWebhookConfiguration " + name
	if read, err := hooks.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{}); err != nil {
		r.results = append(r.results, unread(CheckWebhooks, object, "get on validatingwebhookconfigurations.admissionregistration.k8s.io", err, missing))
	} else {
		c := configuration{object: object}
		for _, h := range read.Webhooks {
			c.hooks = append(c.hooks, hook{h.Name, h.Rules, h.NamespaceSelector, h.ClientConfig, ignores(h.FailurePolicy)})
		}
		r.checkConfiguration(c, d)
	}
}

func ignores(policy *admissionregistrationv1.FailurePolicyType) bool {
	return policy != nil && *policy == admissionregistrationv1.Ignore
}

func (r *run) checkConfiguration(c configuration, d deployment) {
	r.configurations = append(r.configurations, c)
	result := Result{CheckWebhooks, c.object, OK, "covers all kinds", ""}
	for _, kind := range r.definitions {
		if c.hookOf(kind) == nil {
			result = Result{CheckWebhooks, c.object, Failed, "it has no webhook for " + kind.crd.Name, "apply the manifests of this installation"}
		}
	}
	for _, h := range c.hooks {
		service := h.clientConfig.Service
		if service != nil && (service.Namespace != r.namespace || service.Name != d.configuration.Service.Name) {
			result = Result{CheckWebhooks, c.object, Failed,
				fmt.Sprintf("webhook %s names Service %s/%s, and the operator serves at %s/%s", h.name, service.Namespace, service.Name, r.namespace, d.configuration.Service.Name),
				"apply the manifests of this installation"}
		}
	}
	r.results = append(r.results, result)
}

// hookOf returns the webhook for a kind; nil where there is none.
func (c configuration) hookOf(kind definition) *hook {
	for i, h := range c.hooks {
		for _, rule := range h.rules {
			if slices.Contains(rule.APIGroups, kind.Group) && slices.Contains(rule.Resources, kind.Plural) {
				return &c.hooks[i]
			}
		}
	}
	return nil
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
	now, last := r.Clock.Now(), time.Time{}
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
		return left.Round(time.Minute).String()
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
	secret, err := r.Kubernetes.CoreV1().Secrets(r.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		result := unread(CheckCertificate, object, "get on secrets"+in(r.namespace), err, fmt.Sprintf("look at `kubectl -n %s logs deployment/%s`", d.Namespace, d.Name))
		if result.Status == Unchecked { // it holds a private key, which few should read
			result.Status, result.Message, result.Remedy = Skipped, "this user may not read it; the dry runs show whether its authority is trusted", ""
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
		result.Status, result.Message, result.Remedy = Failed, brief(err), "correct spec.dnsNames of Certificate "+certificates.CertManager.Certificate
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
	now := r.Clock.Now()
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
	if r.Dial == nil {
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
	raw, err := r.Dial(ctx, "tcp", net.JoinHostPort(server, port))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	connection := tls.Client(raw, &tls.Config{ServerName: server, RootCAs: roots, MinVersion: tls.VersionTLS12, Time: r.Clock.Now})
	err = connection.HandshakeContext(ctx)
	state := connection.ConnectionState()
	err = errors.Join(err, raw.Close())
	if err != nil || len(state.PeerCertificates) == 0 {
		return nil, errors.Join(err, errors.New("no certificate was served"))
	}
	return state.PeerCertificates[0], nil
}
