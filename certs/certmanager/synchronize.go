// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
)

// synchronize loads what cert-manager has issued, and reports whether it waits until a new authority is
// trusted everywhere. Only at the start does it update the operator's own objects; later it creates missing
// ones, since replicas with different configurations, as during a rollout, would otherwise revert each
// other's changes.
func (s *Source) synchronize(ctx context.Context, start bool) (waits bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	var ensureErr error
	if start || now.Sub(s.ensuredAt) >= interval || now.Before(s.ensuredAt) {
		if ensureErr = s.withTimeout(ctx, func(ctx context.Context) error { return s.ensureObjects(ctx, start) }); ensureErr == nil {
			s.ensuredAt = now
		}
		if errors.Is(ensureErr, errRefused) {
			return false, ensureErr
		}
	}
	var found *keypair.Pair
	err = s.withTimeout(ctx, func(ctx context.Context) (err error) {
		if found, err = s.readIssued(ctx); err != nil && ensureErr == nil {
			err = s.explainUnusable(ctx, err)
		}
		return err
	})
	if err != nil {
		return false, cmp.Or(ensureErr, err)
	}
	if ensureErr != nil && !start {
		err = ensureErr // reported, and no reason to ignore what is there
	} else if ensureErr != nil {
		s.options.Log.Info("serving what was issued before", "reason", ensureErr.Error())
	}
	waits, useErr := s.useIssued(ctx, found)
	return waits, errors.Join(err, useErr)
}

// useIssued publishes the authorities of a pair, and serves it once it may be served.
func (s *Source) useIssued(ctx context.Context, found *keypair.Pair) (waits bool, err error) {
	var others []byte
	if s.fallback.Load() {
		// Other replicas sign with it until they have read what is issued.
		others = s.options.Fallback.CABundle()
	}
	var all trust
	err = s.withTimeout(ctx, func(ctx context.Context) (err error) { all, err = s.updateTrust(ctx, found, others); return err })
	if err != nil {
		return false, err
	}
	now := s.options.Clock.Now()
	if found.Roots == nil && len(all) > 0 {
		if err := found.VerifyAgainst(all.certificates(), now); err != nil {
			return false, fmt.Errorf("secret %s/%s: has no ca.crt, and the authorities that are trusted so far would refuse its certificate: %w: have an issuer sign that fills ca.crt, or, where the API server trusts it without, delete the Secret %s and every caBundle",
				s.options.Namespace, s.options.SecretName, err, trustSecretName)
		}
	}
	if len(all) > 0 {
		s.publish(all.bundle())
	}
	if waits, reason := s.mustWait(ctx, found, now); waits {
		return true, reason
	}
	s.serve(found)
	return false, nil
}

// otherSourcesExpiry is when the last certificate expires that another source signs now. It changes rarely,
// since all replicas write it.
func (s *Source) otherSourcesExpiry() time.Time {
	step := s.options.Validity / 4
	return s.options.Clock.Now().Truncate(step).Add(step + s.options.Validity + skew)
}

// publish sets the bundle that CABundle returns.
func (s *Source) publish(bundle []byte) {
	before := s.CABundle()
	if string(before) == string(bundle) && s.bundle.Load() != nil {
		return
	}
	s.bundle.Store(&bundle)
	if before != nil {
		s.metrics.CountReload(certs.ReloadChanged)
	}
	if s.options.OnChange != nil {
		s.options.OnChange()
	}
}

// serve sets the pair that GetCertificate returns.
func (s *Source) serve(found *keypair.Pair) {
	s.pending, s.pendingSince = nil, time.Time{}
	before := s.served.Load()
	if before != nil && before.Same(found) {
		return
	}
	s.served.Store(found)
	if before != nil || s.fallback.Swap(false) {
		s.metrics.CountReload(certs.ReloadChanged)
	}
	leaf := found.Served.Leaf
	s.metrics.SetExpiry(certs.ExpiryServing, leaf.NotAfter)
	s.metrics.SetExpiry(certs.ExpiryRoot, found.RootExpiry())
	s.options.Log.Info("serving certificate of cert-manager in use", "serial", leaf.SerialNumber.Text(16),
		"expires", leaf.NotAfter, "chain", len(found.Served.Certificate), "bundle", found.Bundle != nil)
}

// toldAfter is how long a certificate waits for its authority to be trusted before that is an error.
const toldAfter = time.Minute

// mustWait reports whether a pair must not be served yet, since some targets do not trust its authority
// while the current one is still trusted; after a while also why.
func (s *Source) mustWait(ctx context.Context, found *keypair.Pair, now time.Time) (waits bool, reason error) {
	trustedSoFar, expires := s.servedTrust()
	switch {
	case trustedSoFar == nil: // nothing is served, or it is unknown which targets trust it
		return false, nil
	case s.options.Observe == nil, found.Bundle == nil:
		return false, nil
	case certs.TrustsAll(trustedSoFar, found.Roots):
		return false, nil
	case !expires.IsZero() && expires.Before(now.Add(interval)):
		s.options.Log.Info("serving a certificate before its authority was seen to be trusted everywhere, since the former one expires", "expires", expires)
		return false, nil
	}
	if s.pending == nil || string(s.pending.Bundle) != string(found.Bundle) {
		s.options.Log.Info("a certificate of another authority waits until that is trusted everywhere", "serial", found.Served.Leaf.SerialNumber.Text(16))
		s.pendingSince, s.waitingSince = time.Time{}, now
	}
	s.pending = found
	if err := s.observe(ctx, found.Bundle); err != nil {
		if errors.Is(err, certs.ErrBundleMissing) { // any other error observed nothing
			s.pendingSince = time.Time{}
		}
		s.options.Log.V(1).Info("not trusted everywhere yet", "reason", err.Error())
		if now.Sub(s.waitingSince) < toldAfter {
			return true, nil
		}
		return true, fmt.Errorf("secret %s/%s: its certificate is of another authority, and is not served before API servers trust that: %w",
			s.options.Namespace, s.options.SecretName, err)
	}
	s.waitingSince = now
	if s.pendingSince.IsZero() {
		s.pendingSince = now
	}
	// Another user may have replaced the former authority instead of adding to it: then the current
	// certificate is refused too.
	if err := s.observe(ctx, trustedSoFar); errors.Is(err, certs.ErrBundleMissing) {
		return false, nil
	}
	return now.Sub(s.pendingSince) < settle, nil
}

// observe returns nil where every target has the bundle.
func (s *Source) observe(ctx context.Context, bundle []byte) error {
	return s.withTimeout(ctx, func(ctx context.Context) error { return s.options.Observe(ctx, bundle) })
}

// servedTrust is the bundle of what is served now, and when that expires; no time for a fallback, which
// renews itself.
func (s *Source) servedTrust() ([]byte, time.Time) {
	if s.fallback.Load() {
		return s.options.Fallback.CABundle(), time.Time{}
	}
	if pair := s.served.Load(); pair != nil {
		return pair.Bundle, pair.Served.Leaf.NotAfter
	}
	return nil, time.Time{}
}
