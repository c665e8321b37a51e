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

// firstCheckDelay is how long after the bundle has changed it is first looked for: writing it takes the
// API server some 200 ms for each CRD.
const firstCheckDelay = time.Second

// bundleCheck is what was last seen of a bundle, in one phase of a rotation.
type bundleCheck struct {
	phase         string
	bundle        string
	propagation   rotation.Propagation
	completeSince time.Time     // when it was seen to stand everywhere
	backoff       time.Duration // doubled after every look in vain
	nextAt        time.Time     // of the next look
	logged        retry.Distinct
}

// propagationOf says what was seen of the bundle that is held, in the phase that it is held in.
func (l *bundleCheck) propagationOf(h *storedCA) rotation.Propagation {
	if l.phase != h.phaseID() || l.bundle != string(h.bundle()) {
		return rotation.Unknown
	}
	return l.propagation
}

// nextCheck says whether to look now for the bundle where clients find it, and else when. The zero
// time means that nothing depends on it.
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
			l.nextAt = now // it stood there a moment ago
		}
	}
	return !now.Before(a.check.nextAt), a.check.nextAt
}

// checkBundle looks for the bundle where clients find it, and says whether that changes anything.
func (a *Authority) checkBundle(ctx context.Context) bool {
	a.mu.Lock()
	phase, bundle := a.check.phase, a.check.bundle
	a.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, a.options.AttemptTimeout)
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
	if l.backoff > 4*firstCheckDelay && l.logged.Add(err) { // one or two looks in vain are usual
		a.options.Log.Info("the CA bundle has not reached every client; the root that signs is not replaced before", "secret", a.String(), "reason", err.Error())
	}
	return l.propagation == rotation.Missing && a.stored.status.Phase == rotation.Observed
}

// Latest returns the bundle by the Secret as it stands now. A caller about to write a bundle over
// another asks after having read that one: a replica that was cut off may hold a bundle that the
// others have moved on from, and must not bring it back.
func (a *Authority) Latest(ctx context.Context) ([]byte, error) {
	secret, err := a.secrets.Get(ctx, a.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("secret %s: is not there; a new one is about to be made", a)
	}
	if err != nil {
		return nil, a.explain(err)
	}
	found, err := read(secret, a.options.Clock.Now())
	if err != nil {
		return a.CABundle(), nil //nolint:nilerr // Run complains of it; the last good bundle stays in use
	}
	return found.bundle(), nil
}
