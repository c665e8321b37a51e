// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Holder holds the certificates that a certs.Keeper reads, serves and publishes. GetCertificate, CABundle and Latest are safe
// for concurrent use; the other methods are not.
type Holder struct {
	options Options

	// What handshakes and handlers read: no lock, never half-changed.
	served   atomic.Pointer[keypair.Pair]
	bundle   atomic.Pointer[[]byte]
	fallback atomic.Bool // whether the fallback serves
	prepared atomic.Bool // whether what is served may be handed out: AwaitTrust has succeeded

	pending      *keypair.Pair
	pendingSince time.Time // when pending was first trusted everywhere
	waitingSince time.Time // when pending was first not trusted everywhere
}

// NewHolder returns a Holder that serves nothing, and sends no request.
func NewHolder(options Options) *Holder { return &Holder{options: options.withDefaults()} }

// Use publishes the authorities of a pair beside those that are trusted already, and serves the pair once it may be served.
// It reports whether that waits; the caller then calls it again soon. An error leaves what is served.
func (h *Holder) Use(ctx context.Context, found *keypair.Pair) (waits bool, err error) {
	var others []byte
	if h.fallback.Load() {
		// Other replicas sign with it until they have read what is issued.
		others = h.options.Fallback.CABundle()
	}
	var all list
	err = withTimeout(ctx, func(ctx context.Context) (err error) { all, found, err = h.update(ctx, found, others); return err })
	if err != nil {
		return false, err
	}
	if len(all) > 0 {
		h.publish(all.bundle())
	} else if h.options.Secrets == nil {
		h.publish(nil)
	}
	if waits, reason := h.mustWait(ctx, found); waits {
		return true, reason
	}
	h.serve(found)
	return false, nil
}

// AwaitTrust waits until the targets trust the certificate before it is handed out, where they trust others
// that are served already. The only replica publishes later, once it can be reached. Its error says that every target
// that could be read would refuse the certificate: other replicas may serve one that is trusted.
func (h *Holder) AwaitTrust(ctx context.Context) error {
	err := h.awaitTrust(ctx)
	if err == nil {
		h.prepared.Store(true)
	}
	return err
}

func (h *Holder) awaitTrust(ctx context.Context) error {
	pair, bundle := h.served.Load(), h.bundle.Load()
	if bundle == nil || string(*bundle) == string(pair.Bundle) || pair.Bundle == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	observe := func(ctx context.Context) error {
		if h.options.Observe == nil {
			return nil
		}
		return h.options.Observe(ctx, pair.Bundle)
	}
	var err error
	if h.options.Publish == nil {
		policy := retry.Policy{Clock: h.options.Clock, Log: h.options.Log, MaxDelay: retryInterval, AttemptTimeout: attemptTimeout}
		err = retry.Until(bounded, policy, observe)
	} else if h.options.Observe == nil || observe(bounded) != nil {
		if err = h.options.Publish(bounded, *bundle); err == nil {
			err = h.pause(ctx, settle)
		} else if observed := withTimeout(ctx, observe); errors.Is(observed, certs.ErrTrustedNowhere) {
			err = observed
		}
	}
	switch {
	case errors.Is(err, certs.ErrTrustedNowhere):
		return fmt.Errorf("the certificate is not served before an API server would accept it: %w", err)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		h.options.Log.Info("serving a certificate that may not be trusted everywhere yet", "waited", trustTimeout.String(), "reason", err.Error())
	}
	return nil
}

func (h *Holder) pause(ctx context.Context, span time.Duration) error {
	timer := h.options.Clock.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// UseFallback has the fallback serve until the first certificate is served.
func (h *Holder) UseFallback() {
	h.fallback.Store(true)
	h.prepared.Store(true)
}

// IsFallback reports whether the fallback serves.
func (h *Holder) IsFallback() bool { return h.fallback.Load() }

// GetCertificate returns the current certificate, for any server name. It fails before AwaitTrust has succeeded: what was read may be
// trusted nowhere, and other replicas may serve a certificate that is.
func (h *Holder) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if h.fallback.Load() {
		return h.options.Fallback.GetCertificate(hello)
	}
	if pair := h.served.Load(); pair != nil && h.prepared.Load() {
		return pair.Served, nil
	}
	return nil, fmt.Errorf("%s: no certificate that is trusted has been read yet", h.options.Source)
}

// CABundle returns the authorities of the Secret, or those of the fallback while nothing has been
// issued; nil where the issuer has no root.
func (h *Holder) CABundle() []byte {
	if bundle := h.bundle.Load(); bundle != nil {
		return *bundle
	}
	if h.fallback.Load() {
		return h.options.Fallback.CABundle()
	}
	return nil
}

// Latest returns the authorities of the Secret as it is stored now, or CABundle where it has none.
func (h *Holder) Latest(ctx context.Context) ([]byte, error) {
	if h.bundle.Load() == nil { // nothing was issued yet
		if keeper, ok := h.options.Fallback.(certs.Keeper); ok && h.fallback.Load() {
			return keeper.Latest(ctx)
		}
		return h.CABundle(), nil
	}
	if h.options.Secrets == nil {
		return h.CABundle(), nil
	}
	secret, err := h.options.Secrets.Get(ctx, SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return h.CABundle(), nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", h.identity(), err)
	}
	if all := readList(secret.Data); len(all) > 0 && secret.Labels[common.ManagedByLabel] == common.ManagedBy {
		return all.bundle(), nil
	}
	return h.CABundle(), nil
}

// publish sets the bundle that CABundle returns.
func (h *Holder) publish(bundle []byte) {
	before := h.CABundle()
	if string(before) == string(bundle) && h.bundle.Load() != nil {
		return
	}
	h.bundle.Store(&bundle)
	if before != nil {
		h.options.Metrics.CountReload(certs.ReloadChanged)
	}
	if h.options.OnChange != nil {
		h.options.OnChange()
	}
}

// serve sets the pair that GetCertificate returns.
func (h *Holder) serve(found *keypair.Pair) {
	h.pending, h.pendingSince = nil, time.Time{}
	before := h.served.Load()
	if before != nil && before.Same(found) {
		return
	}
	h.served.Store(found)
	if before != nil || h.fallback.Swap(false) {
		h.options.Metrics.CountReload(certs.ReloadChanged)
	}
	leaf := found.Served.Leaf
	h.options.Metrics.SetExpiry(certs.ExpiryServing, leaf.NotAfter)
	h.options.Metrics.SetExpiry(certs.ExpiryRoot, found.RootExpiry())
	h.options.Log.Info("serving certificate in use", "source", h.options.Source, "serial", leaf.SerialNumber.Text(16),
		"expires", leaf.NotAfter, "chain", len(found.Served.Certificate), "bundle", found.Bundle != nil)
}

// mustWait reports whether a pair must not be served yet, since some targets do not trust its authority
// while the current one is still trusted; after a while also why.
func (h *Holder) mustWait(ctx context.Context, found *keypair.Pair) (waits bool, reason error) {
	now := h.options.Clock.Now()
	trustedSoFar, expires := h.servedTrust(now)
	switch {
	case trustedSoFar == nil, !h.prepared.Load(): // nothing is served, or it is unknown which targets trust it
		return false, nil
	case h.options.Observe == nil, found.Bundle == nil:
		return false, nil
	case certs.TrustsAll(trustedSoFar, found.Roots):
		return false, nil
	case !expires.IsZero() && expires.Before(now.Add(lastMoment)):
		h.options.Log.Info("serving a certificate before its authority was seen to be trusted everywhere, since the previous certificate expires", "expires", expires)
		return false, nil
	}
	if h.pending == nil || string(h.pending.Bundle) != string(found.Bundle) {
		h.options.Log.Info("a certificate of another authority waits until that is trusted everywhere", "serial", found.Served.Leaf.SerialNumber.Text(16))
		h.pendingSince, h.waitingSince = time.Time{}, now
	}
	h.pending = found
	if err := h.observe(ctx, found.Bundle); err != nil {
		if errors.Is(err, certs.ErrBundleMissing) { // any other error observed nothing
			h.pendingSince = time.Time{}
		}
		h.options.Log.V(1).Info("not trusted everywhere yet", "reason", err.Error())
		if now.Sub(h.waitingSince) < toldAfter {
			return true, nil
		}
		return true, fmt.Errorf("%s: its certificate is of another authority, and is not served before API servers trust that: %w", h.options.Source, err)
	}
	h.waitingSince = now
	if h.pendingSince.IsZero() {
		h.pendingSince = now
	}
	// Another user may have replaced the previous authority instead of adding to it. Then the current certificate is refused
	// too.
	if err := h.observe(ctx, trustedSoFar); errors.Is(err, certs.ErrBundleMissing) {
		return false, nil
	}
	return now.Sub(h.pendingSince) < settle, nil
}

// observe returns nil where every target has the bundle.
func (h *Holder) observe(ctx context.Context, bundle []byte) error {
	return withTimeout(ctx, func(ctx context.Context) error { return h.options.Observe(ctx, bundle) })
}

// servedTrust is the bundle of what is served now, and when that expires; no time for a fallback, which
// renews itself, and whose bundle may have authorities of others.
func (h *Holder) servedTrust(now time.Time) ([]byte, time.Time) {
	if h.fallback.Load() {
		bundle := h.options.Fallback.CABundle()
		served, err := h.options.Fallback.GetCertificate(nil)
		if all, parseErr := pemfile.ParseCertificates(bundle); err == nil && parseErr == nil {
			if roots, err := (&keypair.Pair{Served: served}).TrustedBy(all, now); err == nil {
				bundle = certs.EncodeCertificates(roots...)
			}
		}
		return bundle, time.Time{}
	}
	if pair := h.served.Load(); pair != nil {
		return pair.Bundle, pair.Served.Leaf.NotAfter
	}
	return nil, time.Time{}
}

// withTimeout bounds one request. A bound on a whole pass would be exceeded where each request is slow.
func withTimeout(ctx context.Context, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(bounded)
}
