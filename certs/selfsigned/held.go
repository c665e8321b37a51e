// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/x509"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
)

// held is what the Secret holds.
type held struct {
	secret  *corev1.Secret
	signer  *root               // tls.crt and tls.key
	next    *root               // next.crt and next.key, while a rotation needs them
	trusted []*x509.Certificate // ca.crt
	record  record
}

// trusts are all that clients must trust. The newest root comes first, as it does after it has
// become the one that signs: the bytes are the same before and after.
func (h *held) trusts() []*x509.Certificate {
	var all []*x509.Certificate
	if h.next != nil {
		all = append(all, h.next.chain...)
	}
	all = append(all, h.signer.chain...)
	return append(all, h.trusted...)
}

func (h *held) bundle() []byte { return certs.EncodeCertificates(h.trusts()...) }

// formerExpiry is when the last of the former roots expires.
func (h *held) formerExpiry() time.Time {
	var last time.Time
	for _, one := range h.trusted {
		if h.record.names(one) && one.NotAfter.After(last) {
			last = one.NotAfter
		}
	}
	return last
}

// wanted is why another root should follow; empty where nothing asks for it.
func (h *held) wanted(now time.Time) string {
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

// due is when the age of the root will ask for another one.
func (h *held) due() time.Time {
	certificate := h.signer.certificate()
	return certificate.NotAfter.Add(-certificate.NotAfter.Sub(certificate.NotBefore) / 10)
}
