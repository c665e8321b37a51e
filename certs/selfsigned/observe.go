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

// firstLook is how long after the bundle has changed it is first looked for: writing it takes the
// API server some 200 ms for each CRD.
const firstLook = time.Second

// looking is what was last seen of a bundle, in one phase of a rotation.
type looking struct {
	phase  string
	bundle string
	sight  rotation.Sight
	stood  time.Time     // when it was seen to stand everywhere
	pause  time.Duration // doubled after every look in vain
	at     time.Time     // of the next look
	seen   retry.Distinct
}

// of says what was seen of the bundle that is held, in the phase that it is held in.
func (l *looking) of(h *held) rotation.Sight {
	if l.phase != h.phase() || l.bundle != string(h.bundle()) {
		return rotation.Unknown
	}
	return l.sight
}

// wantsLook says whether to look now for the bundle where clients find it, and else when. The zero
// time means that nothing depends on it.
func (a *Authority) wantsLook(now time.Time) (bool, time.Time) {
	if a.options.Observe == nil || a.held == nil {
		return false, time.Time{}
	}
	holding := a.current != nil && a.holdsBack(now) && a.looking.of(a.held) != rotation.Standing
	if !a.judge(a.held, now).Look && !holding {
		return false, time.Time{}
	}
	if l := &a.looking; l.phase != a.held.phase() || l.bundle != string(a.held.bundle()) {
		pause := min(firstLook, a.options.Interval/10)
		*l = looking{phase: a.held.phase(), bundle: string(a.held.bundle()), pause: pause, at: now.Add(pause)}
		if a.held.record.Phase == rotation.Observed {
			l.at = now // it stood there a moment ago
		}
	}
	return !now.Before(a.looking.at), a.looking.at
}

// look looks for the bundle where clients find it, and says whether that changes anything.
func (a *Authority) look(ctx context.Context) bool {
	a.mu.Lock()
	phase, bundle := a.looking.phase, a.looking.bundle
	a.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, a.options.AttemptTimeout)
	defer cancel()
	err := a.options.Observe(bounded, []byte(bundle))

	a.mu.Lock()
	defer a.mu.Unlock()
	l := &a.looking
	if l.phase != phase || l.bundle != bundle || ctx.Err() != nil {
		return false
	}
	switch {
	case err == nil:
		l.sight, l.stood = rotation.Standing, a.options.Clock.Now()
		return true
	case errors.Is(err, certs.ErrNotCarried):
		l.sight = rotation.Missing
	default:
		l.sight = rotation.Unknown
	}
	l.at = a.options.Clock.Now().Add(l.pause)
	l.pause = min(2*l.pause, a.options.Interval)
	if l.pause > 4*firstLook && l.seen.Add(err) { // one or two looks in vain are usual
		a.options.Log.Info("the CA bundle has not reached every client; the root that signs is not replaced before", "secret", a.String(), "reason", err.Error())
	}
	return l.sight == rotation.Missing && a.held.record.Phase == rotation.Observed
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
