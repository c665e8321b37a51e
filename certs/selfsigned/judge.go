// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
)

// phaseSeen is when this replica first met a phase. Waits that are short count from there: the clock
// of the replica that wrote the phase may be ahead or late.
type phaseSeen struct {
	phase string
	at    time.Time
}

// phaseID identifies the phase among all that ever were.
func (h *storedCA) phaseID() string {
	return fmt.Sprintf("%s %s %s", h.status.Phase, h.status.Since, h.status.Root)
}

// trackPhase notes when a phase is met for the first time.
func (a *Authority) trackPhase(h *storedCA, now time.Time) {
	if a.phaseSeen.phase != h.phaseID() {
		a.phaseSeen = phaseSeen{h.phaseID(), now}
	}
}

// decide says what follows for the rotation from what is held.
func (a *Authority) decide(h *storedCA, now time.Time) rotation.Decision {
	a.trackPhase(h, now)
	since := h.status.Since
	if h.status.Phase != rotation.Retiring && a.phaseSeen.at.After(since) {
		since = a.phaseSeen.at
	}
	pace := a.delays
	pace.LeafLifetime = max(pace.LeafLifetime, time.Duration(h.status.LeafSeconds)*time.Second+a.options.skew())
	return pace.Decide(
		rotation.State{Phase: h.status.Phase, Since: since, Observed: h.status.Observed},
		rotation.Facts{
			Now:          now,
			Due:          h.rotationReason(now) != "",
			Propagation:  a.check.propagationOf(h),
			Unobservable: a.options.Observe == nil,
			Expiry:       h.signer.expiry(),
			FormerExpiry: h.formerExpiry(),
		})
}

// signer is the root of the Secret, except while it is held back. The error is that of a root that
// must sign though it was not seen that clients trust it.
func (a *Authority) signer(now time.Time) (*root, error) {
	if a.serving == nil || a.serving.signer.certificate().Equal(a.stored.signer.certificate()) {
		return a.stored.signer, nil
	}
	if a.awaitsTrust(now) {
		return a.serving.signer, nil
	}
	if a.isSignerTrusted(now) {
		return a.stored.signer, nil
	}
	if previous := a.serving.signer; now.Before(previous.expiry()) {
		return a.stored.signer, fmt.Errorf("secret %s: trusts the former root no more, serial %s, and its successor was not seen everywhere yet", a, previous.certificate().SerialNumber.Text(16))
	}
	return a.stored.signer, fmt.Errorf("secret %s: the former root expired at %s, and its successor was not seen everywhere yet", a, a.serving.signer.expiry().Format(time.RFC3339))
}

// awaitsTrust says whether the root of the Secret is new here and not yet to be used, as clients may
// not know it, while the previous one still serves.
func (a *Authority) awaitsTrust(now time.Time) bool {
	previous := a.serving.signer
	return !previous.certificate().Equal(a.stored.signer.certificate()) && !a.isSignerTrusted(now) &&
		now.Before(previous.expiry()) && certs.Contains(a.stored.trustedRoots(), previous.certificate())
}

// isSignerTrusted says whether clients trust the root of the Secret.
func (a *Authority) isSignerTrusted(now time.Time) bool {
	at, known := a.signerTrustedAt()
	return known && !now.Before(at)
}

// signerTrustedAt is when clients will have come to trust the root of the Secret: by the record of a
// rotation, since it was seen where they look, or, where that cannot be read, by the time they need.
func (a *Authority) signerTrustedAt() (time.Time, bool) {
	record := a.stored.status
	switch {
	case record.Phase == rotation.Retiring, record.Phase == rotation.Signing && record.Settled:
		return a.signerSince, true
	case a.options.Observe == nil:
		return a.signerSince.Add(a.options.Overlap), true
	case record.Phase == rotation.Signing && record.Observed:
		return a.phaseSeen.at.Add(a.delays.Settle), true
	case a.check.propagationOf(a.stored) == rotation.Complete:
		return a.check.completeSince.Add(a.delays.Settle), true
	}
	return time.Time{}, false
}

// nextWake is when there is something to do though nothing happens.
func (a *Authority) nextWake(now time.Time) time.Time {
	at := now.Add(a.options.Interval)
	if a.stored == nil || a.serving == nil {
		return at
	}
	due, look := a.nextCheck(now)
	verdict := a.decide(a.stored, now)
	if due || verdict.Event != "" {
		return now
	}
	moments := []time.Time{look, verdict.RecheckAt, a.serving.renewAt}
	if a.stored.status.Phase == rotation.Stable {
		moments = append(moments, a.stored.rotationDueAt())
	}
	if a.awaitsTrust(now) {
		trusted, _ := a.signerTrustedAt()
		moments = append(moments, a.serving.signer.expiry(), trusted)
	}
	for _, moment := range moments {
		if moment.After(now) {
			at = earlier(at, moment)
		}
	}
	return at
}
