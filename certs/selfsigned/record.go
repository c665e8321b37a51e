// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
)

// The annotations of the Secret, and its keys beside those of every TLS Secret.
const (
	// RotateAnnotation asks for another root. Any value that is not in RotatedAnnotation does.
	RotateAnnotation = "fairlead.dev/rotate"

	// RotatedAnnotation is the last value of RotateAnnotation that was answered.
	RotatedAnnotation = "fairlead.dev/rotated"

	// RotationAnnotation is how far a rotation has come, as JSON. It is absent when there is none.
	RotationAnnotation = "fairlead.dev/rotation"

	// NextCertKey and NextPrivateKey hold the next root until it signs. They are keys of their own,
	// so that an operator which knows nothing of rotations finds a pair that works in tls.crt.
	NextCertKey    = "next.crt"
	NextPrivateKey = "next.key"
)

// rotationStatus is a rotation as the Secret remembers it. It names the roots that it is about: when
// a user replaces them, it means nothing any more.
type rotationStatus struct {
	Phase  rotation.Phase `json:"phase"`
	Since  time.Time      `json:"since"`
	Reason string         `json:"reason,omitempty"`

	// Observed is whether the root that signs, in the phase Signing, was seen wherever clients look
	// for it, and Settled whether API servers have had the time to take that up.
	Observed bool `json:"observed,omitempty"`
	Settled  bool `json:"settled,omitempty"`

	// Root is the fingerprint of the root that signs, Next of the one that will, and Former of those
	// whose trust ends with the rotation.
	Root   string   `json:"root"`
	Next   string   `json:"next,omitempty"`
	Former []string `json:"former,omitempty"`

	// LeafSeconds is the longest life of a serving certificate that any replica is configured for,
	// as far as replicas have taken part.
	LeafSeconds int64 `json:"leafSeconds,omitempty"`
}

func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// readRotationStatus is what the Secret remembers of a rotation of these roots; Stable where it remembers
// nothing, or something about others.
func readRotationStatus(secret *corev1.Secret, current, next *root) rotationStatus {
	stable := rotationStatus{Phase: rotation.Stable}
	var found rotationStatus
	text, there := secret.Annotations[RotationAnnotation]
	if !there || json.Unmarshal([]byte(text), &found) != nil || found.Root != fingerprint(current.certificate()) {
		return stable
	}
	switch found.Phase {
	case rotation.Publishing, rotation.Observed:
		if next == nil || found.Next != fingerprint(next.certificate()) {
			return stable
		}
	case rotation.Signing, rotation.Retiring:
	default:
		return stable
	}
	return found
}

// writeTo puts the record into the Secret, or takes it away where there is nothing to remember.
func (r rotationStatus) writeTo(secret *corev1.Secret) error {
	if r.Phase == rotation.Stable {
		delete(secret.Annotations, RotationAnnotation)
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[RotationAnnotation] = string(text)
	return nil
}

// withPhase is the record of a phase that begins now.
func (r rotationStatus) withPhase(phase rotation.Phase, now time.Time, leaf time.Duration) rotationStatus {
	r.Phase, r.Since = phase, now.UTC()
	r.LeafSeconds = max(r.LeafSeconds, int64(leaf/time.Second))
	return r
}

// isFormer says whether the certificate is among the former roots.
func (r rotationStatus) isFormer(certificate *x509.Certificate) bool {
	return slices.Contains(r.Former, fingerprint(certificate))
}
