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

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Source is the certs.Source of this package.
type Source struct {
	options  Options
	secrets  corev1client.SecretInterface
	reloads  *certs.Reloads
	expiries *certs.Expiries

	// What handshakes and handlers read: no lock, never half-changed.
	served   atomic.Pointer[keypair.Pair]
	bundle   atomic.Pointer[[]byte]
	fallback atomic.Bool // the fallback serves

	mu           sync.Mutex // held while the Secrets are read, and while a certificate is chosen
	ensuredAt    time.Time  // when the chain was last seen to be there
	pending      *keypair.Pair
	pendingSince time.Time // when awaited was first trusted everywhere
}

var _ certs.Source = (*Source)(nil)

// New makes a source. It fails where options are missing or contradict each other, and exchanges
// nothing with the API server.
func New(options Options) (*Source, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	reloads, err := certs.NewReloads(options.Registerer)
	if err != nil {
		return nil, err
	}
	expires, err := certs.NewExpiries(options.Registerer)
	if err != nil {
		return nil, err
	}
	return &Source{
		options: options, secrets: options.Client.CoreV1().Secrets(options.Namespace),
		reloads: reloads, expiries: expires,
	}, nil
}

// Prepare asks cert-manager for a certificate, or finds the one that is there, and waits for it. It
// bears with a dead or slow API server until ctx ends, and with anything else for Patience. One that
// is there is served although cert-manager is away.
func (s *Source) Prepare(ctx context.Context) error {
	err := retry.Until(ctx, s.policy(), func(ctx context.Context) error {
		_, err := s.synchronize(ctx, true)
		if errors.Is(err, errNotInstalled) && s.options.Fallback != nil {
			return retry.Final(err)
		}
		return err
	})
	switch {
	case err == nil:
		s.awaitTrust(ctx)
		return nil
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
		MaxDelay: retryInterval, AttemptTimeout: s.options.AttemptTimeout, BoundedTimeout: s.options.PrepareTimeout,
	}
}

// awaitTrust has the targets trust the certificate before it is served, where they trust others that
// serve already. A replica that is the only one publishes later, when it can be reached.
func (s *Source) awaitTrust(ctx context.Context) {
	pair, bundle := s.served.Load(), s.bundle.Load()
	if bundle == nil || string(*bundle) == string(pair.Bundle) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.TrustTimeout)
	defer cancel()
	var err error
	switch {
	case s.options.Publish != nil:
		err = s.options.Publish(ctx, *bundle)
	case s.options.Observe != nil:
		err = retry.Until(ctx, s.policy(), func(ctx context.Context) error { return s.options.Observe(ctx, pair.Bundle) })
	}
	if err != nil {
		s.options.Log.Info("serving a certificate that may not be trusted everywhere yet", "waited", s.options.TrustTimeout.String(), "reason", err.Error())
	}
}

// GetCertificate returns the certificate in use, for any server name.
func (s *Source) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.fallback.Load() {
		return s.options.Fallback.GetCertificate(hello)
	}
	if pair := s.served.Load(); pair != nil {
		return pair.Served, nil
	}
	return nil, fmt.Errorf("certificate %s/%s: none has been issued yet", s.options.Namespace, s.options.Certificate)
}

// CABundle returns the authorities of the trust Secret, or those of the fallback while nothing has
// been issued; nil where the issuer knows no root.
func (s *Source) CABundle() []byte {
	if bundle := s.bundle.Load(); bundle != nil {
		return *bundle
	}
	if s.fallback.Load() {
		return s.options.Fallback.CABundle()
	}
	return nil
}
