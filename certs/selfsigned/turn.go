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

// transition is the Secret after a transition. The one that was read stays as it is.
func (o Options) transition(h *storedCA, row rotation.Transition, now time.Time) (*corev1.Secret, error) {
	secret := h.secret.DeepCopy()
	record := h.status.withPhase(row.To, now, o.LeafValidity)
	switch row.Effect {
	case rotation.KeepRoots:
	case rotation.MarkObserved:
		record.Observed = true
	case rotation.CreateRoot:
		next, err := createRoot(o.rootCurve, now, o.RootValidity, o.skew())
		if err != nil {
			return nil, err
		}
		if secret.Data[NextCertKey], secret.Data[NextPrivateKey], err = next.pair(); err != nil {
			return nil, err
		}
		current := append(append([]*x509.Certificate{}, h.signer.chain...), h.trusted...)
		secret.Data[certs.CAKey] = certs.EncodeCertificates(append(next.chain, unexpired(now, current)...)...)
		record.Reason = h.rotationReason(now)
		record.Root, record.Next = fingerprint(h.signer.certificate()), fingerprint(next.certificate())
		if asked := secret.Annotations[RotateAnnotation]; asked != "" {
			secret.Annotations[RotatedAnnotation] = asked
		}
	case rotation.Promote, rotation.PromoteUnobserved:
		secret.Data[certs.CertKey], secret.Data[certs.PrivateKey] = secret.Data[NextCertKey], secret.Data[NextPrivateKey]
		secret.Data[certs.CAKey] = h.bundle()
		// The former key signs nothing any more: what is not there cannot be stolen.
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

// withNewRoot is the Secret with a new root that signs at once, as there is none that could. The former
// roots stay trusted beside it until what they signed has expired.
func (o Options) withNewRoot(secret *corev1.Secret, former []*x509.Certificate, reason string, now time.Time) (*corev1.Secret, error) {
	made, err := createRoot(o.rootCurve, now, o.RootValidity, o.skew())
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
		record.Reason, record.Root, record.Former = reason, fingerprint(made.certificate()), fingerprints(former)
	}
	if asked := secret.Annotations[RotateAnnotation]; asked != "" {
		secret.Annotations[RotatedAnnotation] = asked
	}
	return secret, record.writeTo(secret)
}

// unexpired are those of the roots that have not expired, each once and no more than may be kept.
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
		found = append(found, fingerprint(one))
	}
	return found
}
