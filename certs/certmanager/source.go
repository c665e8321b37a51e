// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/objectwatch"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Source is the certs.Source of this package.
type Source struct {
	options Options
	secrets corev1client.SecretInterface
	metrics *certs.Metrics
	reads   *certs.Reads

	// What handshakes and handlers read: no lock, never half-changed.
	served   atomic.Pointer[keypair.Pair]
	bundle   atomic.Pointer[[]byte]
	fallback atomic.Bool // whether the fallback serves
	prepared atomic.Bool // whether what is served may be handed out: Prepare has succeeded

	mu           sync.Mutex // guards what follows, also while the Secrets are read
	ensuredAt    time.Time  // when the objects were last found
	pending      *keypair.Pair
	pendingSince time.Time // when pending was first trusted everywhere
	waitingSince time.Time // when pending was first not trusted everywhere
}

var _ certs.Keeper = (*Source)(nil)

// New returns a Source. It fails where options are missing or contradict each other, and sends no request.
func New(options Options) (*Source, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	metrics, err := certs.NewMetrics(options.Registerer)
	if err != nil {
		return nil, err
	}
	return &Source{
		options: options, secrets: options.Client.CoreV1().Secrets(options.Namespace),
		metrics: metrics, reads: certs.NewReads(metrics, options.Log, options.OnFailure),
	}, nil
}

// Prepare requests a certificate from cert-manager, or finds the existing one, and waits for it. It retries
// a server that does not respond until ctx ends, and other errors for PrepareTimeout. An existing
// certificate is served although cert-manager is unavailable, and not while no target trusts it that could be read:
// other replicas may serve one that is trusted.
func (s *Source) Prepare(ctx context.Context) error {
	err := s.prepare(ctx)
	if err == nil {
		s.prepared.Store(true)
	}
	return err
}

func (s *Source) prepare(ctx context.Context) error {
	err := retry.Until(ctx, s.policy(), func(ctx context.Context) error {
		_, err := s.synchronize(ctx, true)
		if errors.Is(err, errNotInstalled) && s.options.Fallback != nil {
			return retry.Final(err)
		}
		return err
	})
	switch {
	case err == nil:
		if err = s.awaitTrust(ctx); err == nil {
			return nil
		}
	case errors.Is(err, errNotInstalled) && s.options.Fallback != nil:
		s.options.Log.Info("the fallback serves until cert-manager is installed", "reason", err.Error())
		s.fallback.Store(true)
		return s.options.Fallback.Prepare(ctx)
	}
	return fmt.Errorf("prepare the webhook's certificate: %w", err)
}

func (s *Source) policy() retry.Policy {
	return retry.Policy{
		Clock: s.options.Clock, Log: s.options.Log.WithValues("certificate", s.options.Namespace+"/"+s.options.Certificate),
		MaxDelay: retryInterval, AttemptTimeout: attemptTimeout, BoundedTimeout: s.options.PrepareTimeout,
	}
}

// awaitTrust waits until the targets trust the certificate before it is served, where they trust others
// that are served already. The only replica publishes later, once it can be reached.
func (s *Source) awaitTrust(ctx context.Context) error {
	pair, bundle := s.served.Load(), s.bundle.Load()
	if bundle == nil || string(*bundle) == string(pair.Bundle) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	var err error
	switch {
	case s.options.Publish != nil:
		err = s.options.Publish(ctx, *bundle)
	case s.options.Observe != nil:
		err = retry.Until(ctx, s.policy(), func(ctx context.Context) error { return s.options.Observe(ctx, pair.Bundle) })
	}
	switch {
	case errors.Is(err, certs.ErrTrustedNowhere):
		return fmt.Errorf("the certificate is not served before an API server would accept it: %w", err)
	case err != nil:
		s.options.Log.Info("serving a certificate that may not be trusted everywhere yet", "waited", trustTimeout.String(), "reason", err.Error())
	}
	return nil
}

// GetCertificate returns the current certificate, for any server name. It fails before Prepare has succeeded: what was read may be
// trusted nowhere, and other replicas may serve a certificate that is.
func (s *Source) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.fallback.Load() {
		return s.options.Fallback.GetCertificate(hello)
	}
	if pair := s.served.Load(); pair != nil && s.prepared.Load() {
		return pair.Served, nil
	}
	return nil, fmt.Errorf("certificate %s/%s: none that is trusted has been issued yet", s.options.Namespace, s.options.Certificate)
}

// CABundle returns the authorities of the trust Secret, or those of the fallback while nothing has been
// issued; nil where the issuer has no root.
func (s *Source) CABundle() []byte {
	if bundle := s.bundle.Load(); bundle != nil {
		return *bundle
	}
	if s.fallback.Load() {
		return s.options.Fallback.CABundle()
	}
	return nil
}

// Latest returns the authorities of the trust Secret as it is stored now, or CABundle where it has none.
func (s *Source) Latest(ctx context.Context) ([]byte, error) {
	if s.bundle.Load() == nil { // nothing was issued yet
		if keeper, ok := s.options.Fallback.(certs.Keeper); ok && s.fallback.Load() {
			return keeper.Latest(ctx)
		}
		return s.CABundle(), nil
	}
	secret, err := s.secrets.Get(ctx, trustSecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return s.CABundle(), nil
	case err != nil:
		return nil, fmt.Errorf("secret %s/%s: %w", s.options.Namespace, trustSecretName, err)
	}
	if all := readTrust(secret.Data); len(all) > 0 && secret.Labels[common.ManagedByLabel] == common.ManagedBy {
		return all.bundle(), nil
	}
	return s.CABundle(), nil
}

// Run loads what cert-manager issues until ctx ends. Both Secrets are watched so that a change counts at
// once, and read at every interval, in case a watch is refused or broken.
func (s *Source) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	for _, name := range []string{s.options.SecretName, trustSecretName} {
		running.Go(func() { panics.Go("certificates", func() { s.watchSecret(ctx, name, changed) }) })
	}
	endFallback := s.runFallback(ctx, &running)

	timer := s.options.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C():
		case <-changed:
		}
		waits, err := s.synchronize(ctx, false)
		if !s.fallback.Load() {
			endFallback()
		}
		if ctx.Err() == nil && (!s.fallback.Load() || !errors.Is(err, errNotInstalled)) { // that is as it was at the start
			s.reads.Record(err, "what cert-manager issues could not be taken up; the last good certificate stays in use")
		}
		timer.Reset(s.pause(waits, err))
	}
}

// withTimeout bounds one request. A bound on a whole pass would be exceeded where each request is slow.
func (s *Source) withTimeout(ctx context.Context, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(bounded)
}

// Err returns why what cert-manager issued last is not in use, and that of the fallback while it serves.
func (s *Source) Err() error {
	if s.fallback.Load() {
		return errors.Join(s.reads.Err(), s.options.Fallback.Err())
	}
	return s.reads.Err()
}

// pause is the time until everything is read again.
func (s *Source) pause(waits bool, err error) time.Duration {
	switch {
	case waits:
		return retryInterval
	case s.fallback.Load():
		return fallbackInterval
	case err != nil:
		return interval / 10
	}
	return interval
}

// runFallback runs the fallback, where it serves, until the returned function is called or ctx ends.
func (s *Source) runFallback(ctx context.Context, running *sync.WaitGroup) context.CancelFunc {
	if !s.fallback.Load() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	running.Go(func() {
		err := panics.Try("certificates", func() error { return s.options.Fallback.Run(ctx) })
		if err != nil && ctx.Err() == nil {
			s.options.Log.Error(err, "the fallback has ended; its last certificate stays in use")
		}
	})
	return cancel
}

// watchSecret signals changes of a Secret until ctx ends. A watch that the API server has closed starts
// again soon: until then a bundle that another replica has extended would be published as it was.
func (s *Source) watchSecret(ctx context.Context, name string, changed chan<- struct{}) {
	objectwatch.Run(ctx, objectwatch.Options{
		Client: s.secrets, Name: name, Changed: changed, Work: "certificates", Clock: s.options.Clock,
		MinDelay: retryInterval, MaxDelay: interval,
		OnError: func(err error) {
			s.options.Log.Info("the Secret cannot be watched, so changes count only when it is next read",
				"secret", s.options.Namespace+"/"+name, "interval", interval.String(), "reason", err.Error())
		},
	})
}
