// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
)

// phaseSeen is when this replica first read a phase. Short delays count from there: the clock of the
// replica that wrote the phase may be wrong.
type phaseSeen struct {
	phase string
	at    time.Time
}

// phaseID identifies one phase of one rotation.
func (s *storedCA) phaseID() string {
	return fmt.Sprintf("%s %s %s", s.status.Phase, s.status.Since, s.status.Root)
}

// trackPhase records when a phase is read for the first time.
func (a *Authority) trackPhase(h *storedCA, now time.Time) {
	if a.phaseSeen.phase != h.phaseID() {
		a.phaseSeen = phaseSeen{h.phaseID(), now}
	}
}

// decide returns what is due in the rotation.
func (a *Authority) decide(h *storedCA, now time.Time) rotation.Decision {
	a.trackPhase(h, now)
	since := h.status.Since
	if h.status.Phase != rotation.Retiring && a.phaseSeen.at.After(since) || since.After(now) { // by another clock
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

// signer is the root of the Secret, unless it must wait for the clients. The error is set where a root
// must sign that clients were not observed to trust.
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
		return a.stored.signer, fmt.Errorf("secret %s: no longer trusts the previous root, serial %s, and its successor was not seen everywhere yet", a, previous.certificate().SerialNumber.Text(16))
	}
	return a.stored.signer, fmt.Errorf("secret %s: the previous root expired at %s, and its successor was not seen everywhere yet", a, a.serving.signer.expiry().Format(time.RFC3339))
}

// awaitsTrust reports whether the root of the Secret is new here and must not be used yet, since clients
// may not trust it while the previous one still serves.
func (a *Authority) awaitsTrust(now time.Time) bool {
	previous := a.serving.signer
	return !previous.certificate().Equal(a.stored.signer.certificate()) && !a.isSignerTrusted(now) &&
		now.Before(previous.expiry()) && certs.Contains(a.stored.trustedRoots(), previous.certificate())
}

// isSignerTrusted reports whether clients trust the root of the Secret.
func (a *Authority) isSignerTrusted(now time.Time) bool {
	at, known := a.signerTrustedAt()
	return known && !now.Before(at)
}

// signerTrustedAt is when clients trust the root of the Secret: by the stored phase, by when the bundle was
// observed or, where it cannot be, after Overlap.
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

// nextWake is when there is something to do even if nothing happens.
func (a *Authority) nextWake(now time.Time) time.Time {
	at := now.Add(a.options.Interval)
	if a.stored == nil || a.serving == nil {
		return at
	}
	due, look := a.nextCheck(now)
	decision := a.decide(a.stored, now)
	if due || decision.Event != "" {
		return now
	}
	times := []time.Time{look, decision.RecheckAt, a.serving.renewAt}
	if a.stored.status.Phase == rotation.Stable {
		times = append(times, a.stored.rotationDueAt())
	}
	if a.awaitsTrust(now) {
		trusted, _ := a.signerTrustedAt()
		times = append(times, a.serving.signer.expiry(), trusted)
	}
	for _, t := range times {
		if t.After(now) {
			at = earlier(at, t)
		}
	}
	return at
}

// transition returns the Secret after a transition. The Secret that was read is not changed.
func (o Options) transition(h *storedCA, row rotation.Transition, now time.Time) (*corev1.Secret, error) {
	secret := h.secret.DeepCopy()
	record := h.status.withPhase(row.To, now, o.LeafValidity)
	switch row.Effect {
	case rotation.KeepRoots:
	case rotation.MarkObserved:
		record.Observed = true
	case rotation.CreateRoot:
		next, err := createRoot(o.rootCurve, now, o.RootValidity, o.backdate())
		if err != nil {
			return nil, err
		}
		if secret.Data[NextCertKey], secret.Data[NextPrivateKey], err = next.pair(); err != nil {
			return nil, err
		}
		current := append(append([]*x509.Certificate{}, h.signer.chain...), h.trusted...)
		secret.Data[certs.CAKey] = certs.EncodeCertificates(append(next.chain, unexpired(now, current)...)...)
		record.Reason = h.rotationReason(now)
		record.Root, record.Next = certs.Fingerprint(h.signer.certificate()), certs.Fingerprint(next.certificate())
		if asked := secret.Annotations[RotateAnnotation]; asked != "" {
			secret.Annotations[RotatedAnnotation] = asked
		}
	case rotation.Promote, rotation.PromoteUnobserved:
		secret.Data[certs.CertKey], secret.Data[certs.PrivateKey] = secret.Data[NextCertKey], secret.Data[NextPrivateKey]
		secret.Data[certs.CAKey] = h.bundle()
		// The former key signs nothing more: what is deleted cannot be stolen.
		delete(secret.Data, NextCertKey)
		delete(secret.Data, NextPrivateKey)
		record.Root, record.Next = record.Next, ""
		record.Former = fingerprints(h.signer.chain)
		record.Observed = row.Effect == rotation.Promote
		record.Settled = record.Observed
	case rotation.DropFormer:
		var kept []*x509.Certificate
		for _, one := range h.trustedRoots() {
			if certs.Contains(h.signer.chain, one) || !record.isFormer(one) && now.Before(one.NotAfter) {
				kept = append(kept, one)
			}
		}
		secret.Data[certs.CAKey] = certs.EncodeCertificates(kept...)
	default:
		return nil, fmt.Errorf("a rotation has no effect %q", row.Effect)
	}
	return secret, record.writeTo(secret)
}

// withNewRoot returns the Secret with a new root that signs at once, since no other root could. The former
// roots stay trusted until what they signed has expired.
func (o Options) withNewRoot(secret *corev1.Secret, former []*x509.Certificate, reason string, now time.Time) (*corev1.Secret, error) {
	made, err := createRoot(o.rootCurve, now, o.RootValidity, o.backdate())
	if err != nil {
		return nil, err
	}
	former = unexpired(now, former)
	secret = secret.DeepCopy()
	secret.Data = map[string][]byte{certs.CAKey: certs.EncodeCertificates(append(made.chain, former...)...)}
	if secret.Data[certs.CertKey], secret.Data[certs.PrivateKey], err = made.pair(); err != nil {
		return nil, err
	}
	record := rotationStatus{Phase: rotation.Stable}
	if len(former) > 0 {
		record = record.withPhase(rotation.Signing, now, o.LeafValidity)
		record.Reason, record.Root, record.Former = reason, certs.Fingerprint(made.certificate()), fingerprints(former)
	}
	if asked := secret.Annotations[RotateAnnotation]; asked != "" {
		secret.Annotations[RotatedAnnotation] = asked
	}
	return secret, record.writeTo(secret)
}

// unexpired returns the roots that have not expired, each once, at most maxFormerRoots.
func unexpired(now time.Time, roots []*x509.Certificate) []*x509.Certificate {
	var kept []*x509.Certificate
	for _, one := range roots {
		if len(kept) < maxFormerRoots && now.Before(one.NotAfter) && !certs.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

func fingerprints(certificates []*x509.Certificate) []string {
	found := make([]string, 0, len(certificates))
	for _, one := range certificates {
		found = append(found, certs.Fingerprint(one))
	}
	return found
}
