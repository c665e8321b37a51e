// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// mustWait says whether a pair must not be served yet, since not everybody trusts its authority while
// the one in use is trusted still.
func (s *Source) mustWait(ctx context.Context, found *keypair.Pair, now time.Time) bool {
	trustedSoFar, expires := s.servedTrust()
	switch {
	case trustedSoFar == nil: // nothing is served, or it is unknown by which targets it is trusted
		return false
	case s.options.Observe == nil, found.Bundle == nil:
		return false
	case includesAll(trustedSoFar, found.Roots):
		return false
	case !expires.IsZero() && expires.Before(now.Add(s.options.Interval)):
		s.options.Log.Info("serving a certificate before its authority was seen to be trusted everywhere, since the former one expires", "expires", expires)
		return false
	}
	if s.pending == nil || string(s.pending.Bundle) != string(found.Bundle) {
		s.options.Log.Info("a certificate of another authority waits until that is trusted everywhere", "serial", found.Served.Leaf.SerialNumber.Text(16))
		s.pendingSince = time.Time{}
	}
	s.pending = found
	if err := s.observe(ctx, found.Bundle); err != nil {
		if errors.Is(err, certs.ErrBundleMissing) { // one that could not look has seen nothing else
			s.pendingSince = time.Time{}
		}
		s.options.Log.V(1).Info("not trusted everywhere yet", "reason", err.Error())
		return true
	}
	if s.pendingSince.IsZero() {
		s.pendingSince = now
	}
	// Another user may have replaced the former authority instead of adding to it: then whatever is
	// served meanwhile is refused.
	if err := s.observe(ctx, trustedSoFar); errors.Is(err, certs.ErrBundleMissing) {
		return false
	}
	return now.Sub(s.pendingSince) < s.options.Settle
}

// observe looks whether every target carries the bundle.
func (s *Source) observe(ctx context.Context, bundle []byte) error {
	return s.withTimeout(ctx, func(ctx context.Context) error { return s.options.Observe(ctx, bundle) })
}

// servedTrust is by whom what is served now is trusted, and when it expires; no time for a fallback,
// which renews itself.
func (s *Source) servedTrust() ([]byte, time.Time) {
	if s.fallback.Load() {
		return s.options.Fallback.CABundle(), time.Time{}
	}
	if pair := s.served.Load(); pair != nil {
		return pair.Bundle, pair.Served.Leaf.NotAfter
	}
	return nil, time.Time{}
}

// includesAll says whether a bundle holds all of the authorities.
func includesAll(bundle []byte, authorities []*x509.Certificate) bool {
	standing, err := pemfile.ParseCertificates(bundle)
	if err != nil {
		return false
	}
	for _, one := range authorities {
		if !certs.Contains(standing, one) {
			return false
		}
	}
	return true
}
