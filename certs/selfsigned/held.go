// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/x509"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
)

// storedCA is what the Secret holds.
type storedCA struct {
	secret  *corev1.Secret
	signer  *root               // tls.crt and tls.key
	next    *root               // next.crt and next.key, while a rotation needs them
	trusted []*x509.Certificate // ca.crt
	status  rotationStatus
}

// trustedRoots are all that clients must trust. The newest root comes first, as it does after it has
// become the one that signs: the bytes are the same before and after.
func (h *storedCA) trustedRoots() []*x509.Certificate {
	var all []*x509.Certificate
	if h.next != nil {
		all = append(all, h.next.chain...)
	}
	all = append(all, h.signer.chain...)
	return append(all, h.trusted...)
}

func (h *storedCA) bundle() []byte { return certs.EncodeCertificates(h.trustedRoots()...) }

// formerExpiry is when the last of the former roots expires.
func (h *storedCA) formerExpiry() time.Time {
	var last time.Time
	for _, one := range h.trusted {
		if h.status.isFormer(one) && one.NotAfter.After(last) {
			last = one.NotAfter
		}
	}
	return last
}

// rotationReason is why another root should follow; empty where nothing asks for it.
func (h *storedCA) rotationReason(now time.Time) string {
	certificate := h.signer.certificate()
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	if now.After(certificate.NotAfter.Add(-life / 10)) {
		return "nine tenths of its life have passed; it expires at " + certificate.NotAfter.Format(time.RFC3339)
	}
	if asked := h.secret.Annotations[RotateAnnotation]; asked != "" && asked != h.secret.Annotations[RotatedAnnotation] {
		return "the annotation " + RotateAnnotation + " asks for it"
	}
	return ""
}

// rotationDueAt is when the age of the root will ask for another one.
func (h *storedCA) rotationDueAt() time.Time {
	certificate := h.signer.certificate()
	return certificate.NotAfter.Add(-certificate.NotAfter.Sub(certificate.NotBefore) / 10)
}
