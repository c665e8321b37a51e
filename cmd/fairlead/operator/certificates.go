// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/x509"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/certmanager"
	"github.com/fairlead-dev/fairlead/certs/folder"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/selfsigned"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// certificates runs the source of the serving certificate, and publishes its CA bundle.
type certificates struct {
	source   certs.Source
	injector *injection.Injector // publishes the root, or looks how far another component has got
	limit    time.Duration       // for one attempt of a phase of the start
	prepared chan struct{}       // closed when there is a certificate

	tried     bool          // whether to publish the root was attempted; republish goes on from there
	attempted chan struct{} // closed after the first call of publish
	first     func()        // closes it
	settled   atomic.Bool   // whether the first attempt to publish the root has ended
}

// newCertificates creates the source that the configuration names, and the injector that publishes its CA bundle.
func (a *assembly) newCertificates() (*certificates, error) {
	wanted := a.config.Webhook.Certificates
	all := &certificates{
		limit: a.config.ClientConnection.StartTimeout.Duration / 3, prepared: make(chan struct{}), attempted: make(chan struct{}),
	}
	all.first = sync.OnceFunc(func() { close(all.attempted) })
	// What rarely resolves by waiting gets less time than the attempt, so that its own error is reported
	// and not the timeout of the attempt.
	timeout := all.limit / 2
	var err error
	if all.injector, err = injection.New(injection.Options{
		Client:         a.untyped,
		Webhooks:       a.kinds.names(a.config.Webhook.Configuration),
		CRDs:           a.kinds.definitions(),
		Service:        types.NamespacedName{Namespace: a.identity.namespace, Name: a.config.Service.Name},
		PublishTimeout: timeout, Latest: all.latest, Interval: min(5*time.Minute, wanted.Validity.Duration),
		OnLoss: func(loss injection.Loss) { a.recordEvent(a.lostBundleEvent(loss)) },
		Log:    a.logger.WithName("ca-injection"), Registerer: a.metrics,
	}); err != nil {
		return nil, err
	}
	s := certificateSources{
		assembly: a, timeout: timeout, onChange: func() {}, logger: a.logger.WithName("certificates"), injector: all.injector,
	}
	if wanted.InjectCA {
		s.onChange = all.injector.Trigger
	}
	switch wanted.Source {
	case options.SourceFolder:
		all.source, err = s.folder()
	case options.SourceCertManager:
		all.source, err = s.certManager()
	default:
		all.source, err = s.selfSigned()
	}
	return all, err
}

// lostBundleEvent returns the Event about an object that has lost the CA bundle. That object has no namespace: an
// operator that may write Events in some namespaces only writes it about its Lease.
func (a *assembly) lostBundleEvent(loss injection.Loss) events.Event {
	event := events.Event{
		Regarding:     corev1.ObjectReference{APIVersion: loss.APIVersion, Kind: loss.Kind, Name: loss.Name, UID: loss.UID},
		ClusterScoped: true,
		Reason:        common.EventCABundleLost, Action: "Inject", Note: loss.Message,
	}
	if !a.config.ClusterAccess {
		event.Regarding, event.ClusterScoped = a.lease(), false
		event.Note = loss.Kind + " " + loss.Name + ": " + loss.Message
	}
	return event
}

// prepare makes one attempt to obtain a certificate.
func (c *certificates) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	err := c.source.Prepare(ctx)
	if err == nil {
		close(c.prepared)
	}
	return err
}

// refresh renews the certificate until ctx ends. It starts once there is one.
func (c *certificates) refresh(ctx context.Context) error {
	return after(c.prepared, c.source.Run)(ctx)
}

// publish writes the CA bundle to where the API server reads it. If the source has no CA bundle, such as a folder
// without ca.crt, the component that filled the folder must write it. After the first attempt republish writes, and
// publish returns the state.
func (c *certificates) publish(ctx context.Context) error {
	defer c.first()
	if _, err := c.source.GetCertificate(nil); err != nil {
		return err
	}
	bundle := c.source.CABundle() // prepare has succeeded, so there is one
	defer c.settled.Store(true)
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

// published returns nil once the first attempt to publish the CA bundle has ended. Before that, API servers may not
// trust this replica yet. A replica with the previous bundle may still be trusted, and a rolling update ends it as soon
// as this one is ready. A failed attempt does not keep the replica unready: see Injector.Missing.
func (c *certificates) published() error {
	if !c.settled.Load() {
		return errors.New("the CA bundle is being published: API servers may not trust its certificate yet")
	}
	return nil
}

// republish keeps the CA bundle published, and publishes it if the first attempt failed.
func (c *certificates) republish(ctx context.Context) error {
	return after(c.attempted, func(ctx context.Context) error { return c.injector.Run(ctx, c.source.CABundle) })(ctx)
}

// latest returns the CA bundle that the source has stored. It returns nil for a source that stores none: the one in use
// then applies.
func (c *certificates) latest(ctx context.Context) ([]byte, error) {
	if keeper, ok := c.source.(certs.Keeper); ok {
		return keeper.Latest(ctx)
	}
	return nil, nil
}

// serverName returns the name by which the API server calls the webhooks. It is the name of their Service, or a name in
// the certificate of a folder that is not for a Service, as in envtest.
func (a *assembly) serverName() string {
	if c := a.config.Webhook.Certificates; c.Source == options.SourceFolder && len(c.DNSNames) > 0 {
		return c.DNSNames[0]
	}
	return a.config.Service.Name + "." + a.identity.namespace + ".svc"
}

// certificateSources creates the source of certificates that the configuration names.
type certificateSources struct {
	assembly *assembly
	timeout  time.Duration // of steps that waiting rarely helps
	onChange func()
	logger   logr.Logger
	injector *injection.Injector
}

// onFailure writes an Event on the operator's Lease that a certificate is not served.
func (s certificateSources) onFailure(err error) {
	s.assembly.recordEvent(events.Event{
		Regarding: s.assembly.lease(), Reason: common.EventCertificateNotUsed, Action: "Read",
		Note: s.assembly.identity.id + ": the last good certificate stays in use: " + err.Error(),
	})
}

// secrets returns the client for the Secrets of the operator's namespace.
func (s certificateSources) secrets() corev1client.SecretInterface {
	return s.assembly.client.CoreV1().Secrets(s.assembly.identity.namespace)
}

// targets returns the objects that need the CA bundle. The operator writes it into them unless injectCA is false.
func (s certificateSources) targets() trust.Targets {
	targets := trust.Targets{Observe: s.injector.Observed, FormerAuthorities: s.former}
	if s.assembly.config.Webhook.Certificates.InjectCA {
		targets.Publish, targets.Published = s.injector.Publish, s.injector.Published
	}
	return targets
}

func (s certificateSources) folder() (certs.Source, error) {
	c := s.assembly.config.Webhook.Certificates
	options := folder.Options{
		Path: c.Folder, ServerName: s.assembly.serverName(), PrepareTimeout: s.timeout,
		Namespace: s.assembly.identity.namespace, Validity: c.Validity.Duration, Targets: s.targets(),
		OnChange: s.onChange, OnFailure: s.onFailure, Clock: s.assembly.clock, Log: s.logger, Registerer: s.assembly.metrics,
	}
	if c.InjectCA {
		options.Secrets = s.secrets()
	}
	return folder.New(options)
}

func (s certificateSources) selfSigned() (certs.Source, error) {
	c := s.assembly.config.Webhook.Certificates
	options := selfsigned.Options{
		Client: s.assembly.client, Namespace: s.assembly.identity.namespace, Name: c.SecretName,
		Service: s.assembly.config.Service.Name, ExtraNames: c.DNSNames, DeniedTimeout: s.timeout / 2,
		LeafValidity: c.Validity.Duration, RootValidity: c.AuthorityValidity.Duration,
		OnChange: s.onChange, OnFailure: s.onFailure, Clock: s.assembly.clock, Log: s.logger, Registerer: s.assembly.metrics,
	}
	if c.InjectCA {
		options.Observe, options.Publish, options.Published = s.injector.Observed, s.injector.Publish, s.injector.Published
	}
	options.OtherAuthorities = func(ctx context.Context, roots []*x509.Certificate) ([]*x509.Certificate, error) {
		return trust.Join(ctx, s.secrets(), roots, options.LeafValidity, s.assembly.clock.Now())
	}
	return selfsigned.New(options)
}

func (s certificateSources) certManager() (certs.Source, error) {
	c := s.assembly.config.Webhook.Certificates
	options := certmanager.Options{
		Client: s.assembly.client, Dynamic: s.assembly.untyped, Namespace: s.assembly.identity.namespace,
		Certificate: c.CertManager.Certificate, SecretName: c.CertManager.SecretName,
		IssuerName: c.CertManager.IssuerName, IssuerKind: c.CertManager.IssuerKind, IssuerGroup: c.CertManager.IssuerGroup,
		Service: s.assembly.config.Service.Name, ExtraNames: c.DNSNames, PrepareTimeout: s.timeout,
		Validity: c.Validity.Duration, RootValidity: c.AuthorityValidity.Duration, Targets: s.targets(),
		OnChange: s.onChange, OnFailure: s.onFailure, Clock: s.assembly.clock, Log: s.logger, Registerer: s.assembly.metrics,
	}
	if c.CertManager.Fallback {
		var err error
		if options.Fallback, err = s.selfSigned(); err != nil {
			return nil, err
		}
	}
	return certmanager.New(options)
}

// former returns the CA bundle of the source selfSigned, if it was in use before. Its replicas serve until the last of
// them has been replaced.
func (s certificateSources) former(ctx context.Context) []byte {
	secret, err := s.secrets().Get(ctx, s.assembly.config.Webhook.Certificates.SecretName, metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			s.logger.Info("who was trusted before is not known", "reason", err.Error())
		}
		return nil
	}
	return secret.Data[certs.CAKey]
}
