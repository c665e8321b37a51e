// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/certmanager"
	"github.com/fairlead-dev/fairlead/certs/folder"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/selfsigned"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// certificates is the source of the serving certificate, with what publishes its root.
type certificates struct {
	certs.Source
	injector *injection.Injector // nil: another component publishes the root
	limit    time.Duration       // for one attempt of a phase of the start
	absent   string              // why there is nothing to publish
	tried    bool                // whether publish was attempted; republish goes on from there
}

// certificateClients are what certificates need of the API server.
type certificateClients struct {
	kubernetes kubernetes.Interface
	dynamic    dynamic.Interface
}

func newCertificates(
	c *options.Configuration, self identity, clients certificateClients, recordEvent func(events.Event),
	by clock.WithTicker, metrics prometheus.Registerer, logger logr.Logger,
) (*certificates, error) {
	all := &certificates{limit: c.ClientConnection.StartTimeout.Duration / 3}
	// What rarely resolves by waiting gets less time than the attempt, so that its own error is reported
	// and not the timeout of the attempt.
	timeout := all.limit / 2
	onChange := func() {}
	wanted := c.Webhook.Certificates
	// A replica that does not write the bundle may still look where it has got to.
	observer, err := injection.New(injection.Options{
		Client: clients.dynamic, Mutating: []string{c.Webhook.MutatingConfiguration}, Validating: []string{c.Webhook.ValidatingConfiguration},
		Service:        types.NamespacedName{Namespace: self.namespace, Name: c.Service.Name},
		PublishTimeout: timeout, Latest: all.latest, Interval: min(5*time.Minute, wanted.Validity.Duration),
		OnLoss: func(loss injection.Loss) { recordEvent(lostBundleEvent(loss, c, self)) },
		Log:    logger.WithName("ca-injection"), Registerer: metrics,
	})
	if err != nil {
		return nil, err
	}
	if wanted.InjectCA {
		all.injector = observer
		onChange = all.injector.Trigger
	} else {
		all.absent = "webhook.certificates.injectCA is false"
	}

	onFailure := func(err error) { recordEvent(certificateFailureEvent(err, c, self)) }
	m := certificateSources{c, self, clients, timeout, onChange, onFailure, logger.WithName("certificates"), by, metrics, observer}
	switch wanted.Source {
	case options.SourceFolder:
		all.Source, err = m.folder()
	case options.SourceCertManager:
		all.Source, err = m.certManager()
	default:
		all.Source, err = m.selfSigned()
	}
	return all, err
}

// lostBundleEvent is the Event about an object that has lost the CA bundle. The object lies in no namespace: an
// operator that may write Events in some namespaces alone writes it about its Lease.
func lostBundleEvent(loss injection.Loss, c *options.Configuration, self identity) events.Event {
	event := events.Event{
		Regarding:     corev1.ObjectReference{APIVersion: loss.APIVersion, Kind: loss.Kind, Name: loss.Name, UID: loss.UID},
		ClusterScoped: true,
		Reason:        "CABundleLost", Action: "Inject", Note: loss.Message,
	}
	if !c.ClusterAccess {
		event.Regarding, event.ClusterScoped = leaseOf(c, self), false
		event.Note = loss.Kind + " " + loss.Name + ": " + loss.Message
	}
	return event
}

// certificateFailureEvent is the Event on the operator's Lease about a certificate that a replica does not serve.
func certificateFailureEvent(err error, c *options.Configuration, self identity) events.Event {
	return events.Event{
		Regarding: leaseOf(c, self), Reason: "CertificateNotUsed", Action: "Read",
		Note: self.id + ": the last good certificate stays in use: " + err.Error(),
	}
}

// Prepare is one attempt at that of the source.
func (c *certificates) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.Source.Prepare(ctx)
}

// publish puts the root where the API server looks for it. A source without a root of its own,
// such as a folder without ca.crt, leaves that to the component that filled the folder. After the first attempt
// republish writes, and publish returns how far it has got.
func (c *certificates) publish(ctx context.Context) error {
	bundle := c.CABundle()
	if _, err := c.GetCertificate(nil); err != nil {
		return err
	}
	if bundle == nil {
		return nil
	}
	if c.tried {
		return c.injector.Missing()
	}
	c.tried = true
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.injector.Publish(ctx, bundle)
}

func (c *certificates) republish(ctx context.Context) error {
	return c.injector.Run(ctx, c.CABundle)
}

// latest returns the bundle that the source has stored, for a source that stores one; nil means the
// one in use.
func (c *certificates) latest(ctx context.Context) ([]byte, error) {
	if origin, ok := c.Source.(interface {
		Latest(ctx context.Context) ([]byte, error)
	}); ok {
		return origin.Latest(ctx)
	}
	return nil, nil
}

// serverName is the name by which the API server calls the webhooks: that of their Service, or of a
// certificate in a folder that is not made for a Service, as in envtest.
func serverName(c *options.Configuration, self identity) string {
	if names := c.Webhook.Certificates.DNSNames; c.Webhook.Certificates.Source == options.SourceFolder && len(names) > 0 {
		return names[0]
	}
	return c.Service.Name + "." + self.namespace + ".svc"
}

// certificateSources makes the source of certificates that the configuration names.
type certificateSources struct {
	config    *options.Configuration
	identity  identity
	clients   certificateClients
	timeout   time.Duration // of what rarely resolves by waiting
	onChange  func()
	onFailure func(error)
	logger    logr.Logger
	clock     clock.WithTicker
	metrics   prometheus.Registerer
	observer  *injection.Injector
}

func (s certificateSources) folder() (certs.Source, error) {
	return folder.New(folder.Options{
		Path: s.config.Webhook.Certificates.Folder, ServerName: serverName(s.config, s.identity), PrepareTimeout: s.timeout,
		OnChange: s.onChange, OnFailure: s.onFailure, Clock: s.clock, Log: s.logger, Registerer: s.metrics,
	})
}

func (s certificateSources) selfSigned() (certs.Source, error) {
	c := s.config.Webhook.Certificates
	options := selfsigned.Options{
		Client: s.clients.kubernetes, Namespace: s.identity.namespace, Name: c.SecretName,
		Service: s.config.Service.Name, ExtraNames: c.DNSNames, DeniedTimeout: s.timeout / 2,
		LeafValidity: c.Validity.Duration, RootValidity: c.AuthorityValidity.Duration,
		OnChange: s.onChange, OnFailure: s.onFailure, Clock: s.clock, Log: s.logger, Registerer: s.metrics,
	}
	if c.InjectCA {
		options.Observe, options.Publish, options.Published = s.observer.Observed, s.observer.Publish, s.observer.Published
	}
	return selfsigned.New(options)
}

func (s certificateSources) certManager() (certs.Source, error) {
	c := s.config.Webhook.Certificates
	options := certmanager.Options{
		Client: s.clients.kubernetes, Dynamic: s.clients.dynamic, Namespace: s.identity.namespace,
		Certificate: c.CertManager.Certificate, SecretName: c.CertManager.SecretName,
		IssuerName: c.CertManager.IssuerName, IssuerKind: c.CertManager.IssuerKind, IssuerGroup: c.CertManager.IssuerGroup,
		Service: s.config.Service.Name, ExtraNames: c.DNSNames, PrepareTimeout: s.timeout,
		Validity: c.Validity.Duration, RootValidity: c.AuthorityValidity.Duration, Observe: s.observer.Observed,
		OnChange: s.onChange, OnFailure: s.onFailure, Clock: s.clock, Log: s.logger, Registerer: s.metrics,
	}
	options.FormerAuthorities = s.former
	if c.InjectCA {
		options.Publish, options.Published = s.observer.Publish, s.observer.Published
	}
	if c.CertManager.Fallback {
		var err error
		if options.Fallback, err = s.selfSigned(); err != nil {
			return nil, err
		}
	}
	return certmanager.New(options)
}

// former are the authorities of the source selfSigned, where it was in use before: its replicas serve
// until the last of them has been replaced.
func (s certificateSources) former(ctx context.Context) []byte {
	secret, err := s.clients.kubernetes.CoreV1().Secrets(s.identity.namespace).Get(ctx, s.config.Webhook.Certificates.SecretName,
		metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			s.logger.Info("who was trusted before is not known", "reason", err.Error())
		}
		return nil
	}
	return secret.Data[certs.CAKey]
}
