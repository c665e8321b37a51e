// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/retry"
)

// Authority is the certs.Source of this package.
type Authority struct {
	options Options
	secrets corev1client.SecretInterface
	reloads *certs.Reloads

	// What handshakes and handlers read: no lock, never half-changed.
	served atomic.Pointer[tls.Certificate]
	bundle atomic.Pointer[[]byte]

	mu      sync.Mutex // held while the Secret is read and while a certificate is chosen
	root    *root      // as last read from the Secret
	since   time.Time  // when root was first seen here
	current *leaf      // what is served
}

var _ certs.Source = (*Authority)(nil)

// New makes an authority. It fails where options are missing or contradict each other, and
// exchanges nothing with the API server.
func New(options Options) (*Authority, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	reloads, err := certs.NewReloads(options.Registerer)
	if err != nil {
		return nil, err
	}
	return &Authority{options: options, secrets: options.Client.CoreV1().Secrets(options.Namespace), reloads: reloads}, nil
}

// Prepare reads the root from the Secret, or makes it, and signs a first serving certificate. It
// bears with a dead or slow API server until ctx ends, with missing permissions for
// DeniedPatience, and with a Secret that is not the operator's not at all.
func (a *Authority) Prepare(ctx context.Context) error {
	policy := retry.Policy{
		Clock:    a.options.Clock,
		Log:      a.options.Log.WithValues("secret", a.String()),
		Attempt:  a.options.AttemptTimeout,
		Stubborn: a.options.DeniedPatience,
	}
	err := retry.Until(ctx, policy, func(ctx context.Context) error {
		err := a.synchronize(ctx)
		if errors.Is(err, errRefused) {
			return retry.Final(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare the webhook's certificate: %w", err)
	}
	return nil
}

// GetCertificate answers the serving certificate for any server name.
func (a *Authority) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := a.served.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, fmt.Errorf("secret %s: no serving certificate has been signed yet", a)
}

// CABundle answers the roots that the Secret says to trust; nil before Prepare has succeeded.
func (a *Authority) CABundle() []byte {
	if bundle := a.bundle.Load(); bundle != nil {
		return *bundle
	}
	return nil
}

// String is the Secret's namespace and name.
func (a *Authority) String() string { return a.options.Namespace + "/" + a.options.Name }

// adopt takes up what the Secret holds: first who is trusted, then who signs.
func (a *Authority) adopt(found *root) error {
	now := a.options.Clock.Now()
	if a.root == nil || !a.root.certificate().Equal(found.certificate()) {
		a.since = now
		a.options.Log.Info("certificate authority in use", "secret", a.String(),
			"serial", found.certificate().SerialNumber.Text(16), "expires", found.certificate().NotAfter)
	}
	a.root = found
	bundle := found.bundle()
	if before := a.bundle.Load(); before == nil || string(*before) != string(bundle) {
		a.bundle.Store(&bundle)
		if before != nil {
			a.reloads.Count(certs.ReloadChanged)
		}
		if a.options.OnChange != nil {
			a.options.OnChange()
		}
	}
	return a.renew(now)
}

// renew serves another certificate where the current one is old or its signer has been replaced.
func (a *Authority) renew(now time.Time) error {
	if a.root == nil {
		return nil
	}
	signer := a.signer(now)
	if a.current != nil && a.current.fresh(now) && a.current.signer.certificate().Equal(signer.certificate()) {
		return nil
	}
	signed, err := sign(signer, a.options.names(), now, a.options.LeafValidity)
	if err != nil {
		return err
	}
	if a.current != nil {
		a.reloads.Count(certs.ReloadChanged)
	}
	a.current = signed
	a.served.Store(signed.certificate)
	a.options.Log.Info("serving certificate signed", "serial", signed.certificate.Leaf.SerialNumber.Text(16),
		"expires", signed.certificate.Leaf.NotAfter, "renewal", signed.renewAt)
	return nil
}

// signer is the root of the Secret, except while it is new here and the previous one is trusted
// still: clients learn of a root before they meet a certificate of it.
func (a *Authority) signer(now time.Time) *root {
	if a.current == nil {
		return a.root
	}
	previous := a.current.signer
	overlapping := now.Before(a.since.Add(a.options.Overlap)) &&
		now.Add(a.options.Overlap).Before(previous.certificate().NotAfter) &&
		certs.Contains(a.root.trusts(), previous.certificate())
	if overlapping {
		return previous
	}
	return a.root
}

// former are the roots that a new one must keep company with: those that were trusted so far.
func (a *Authority) former() []*x509.Certificate {
	if a.root == nil {
		return nil
	}
	return a.root.trusts()
}
