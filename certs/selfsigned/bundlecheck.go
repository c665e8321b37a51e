// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// firstCheckDelay is the time between a change of the bundle and the first check: the API server takes
// some 200 ms to write each CRD.
const firstCheckDelay = time.Second

// bundleCheck is the last observation of a bundle in one phase of a rotation.
type bundleCheck struct {
	phase         string
	bundle        string
	propagation   rotation.Propagation
	completeSince time.Time     // when it was first observed everywhere
	backoff       time.Duration // doubled after each check without success
	nextAt        time.Time     // time of the next check
	logged        retry.Distinct
}

// propagationOf returns what was observed of the stored bundle in its phase.
func (b *bundleCheck) propagationOf(h *storedCA) rotation.Propagation {
	if b.phase != h.phaseID() || b.bundle != string(h.bundle()) {
		return rotation.Unknown
	}
	return b.propagation
}

// nextCheck reports whether a check is due now, and otherwise when the next one is. The zero time means
// that no decision depends on one.
func (a *Authority) nextCheck(now time.Time) (bool, time.Time) {
	if a.options.Observe == nil || a.stored == nil {
		return false, time.Time{}
	}
	holding := a.serving != nil && a.awaitsTrust(now) && a.check.propagationOf(a.stored) != rotation.Complete
	if !a.decide(a.stored, now).CheckBundle && !holding {
		return false, time.Time{}
	}
	if l := &a.check; l.phase != a.stored.phaseID() || l.bundle != string(a.stored.bundle()) {
		pause := min(firstCheckDelay, a.options.Interval/10)
		*l = bundleCheck{phase: a.stored.phaseID(), bundle: string(a.stored.bundle()), backoff: pause, nextAt: now.Add(pause)}
		if a.stored.status.Phase == rotation.Observed {
			l.nextAt = now // it was there a moment ago
		}
	}
	return !now.Before(a.check.nextAt), a.check.nextAt
}

// checkBundle observes the bundle, and reports whether that changes a decision.
func (a *Authority) checkBundle(ctx context.Context) bool {
	a.mu.Lock()
	phase, bundle := a.check.phase, a.check.bundle
	a.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := a.options.Observe(bounded, []byte(bundle))

	a.mu.Lock()
	defer a.mu.Unlock()
	l := &a.check
	if l.phase != phase || l.bundle != bundle || ctx.Err() != nil {
		return false
	}
	switch {
	case err == nil:
		l.propagation, l.completeSince = rotation.Complete, a.options.Clock.Now()
		return true
	case errors.Is(err, certs.ErrBundleMissing):
		l.propagation = rotation.Missing
	default:
		l.propagation = rotation.Unknown
	}
	l.nextAt = a.options.Clock.Now().Add(l.backoff)
	l.backoff = min(2*l.backoff, a.options.Interval)
	if l.backoff > 4*firstCheckDelay && l.logged.Add(err) { // the first checks usually fail
		a.options.Log.Info("the CA bundle has not reached every client; the root that signs is not replaced before", "secret", a.String(), "reason", err.Error())
	}
	return l.propagation == rotation.Missing && a.stored.status.Phase == rotation.Observed
}

// Latest returns the bundle of the Secret as it is stored now, with the authorities of other sources. It fails where these were
// never read: a write would take them away.
func (a *Authority) Latest(ctx context.Context) ([]byte, error) {
	secret, err := a.secrets.Get(ctx, a.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("secret %s: is not there; a new one is about to be made", a)
	}
	if err != nil {
		return nil, a.explain(err)
	}
	found, err := read(secret, a.options.Clock.Now())
	if err == nil {
		err = a.checkSigner(found)
	}
	if err != nil {
		return a.CABundle(), nil //nolint:nilerr // Run logs it; the last valid bundle stays in use
	}
	if err := a.askOthers(ctx, found); err != nil && a.others.Load() == nil {
		return nil, fmt.Errorf("the authorities of another source are not known: %w", err)
	}
	return a.bundleOf(found), nil
}
