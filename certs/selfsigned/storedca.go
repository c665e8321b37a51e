// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
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

// unusableError is the content of a Secret of ours that cannot be used and holds nothing that anybody
// could want back: it is replaced. The roots that could be read out of it stay trusted.
type unusableError struct {
	reason string
	former []*x509.Certificate
}

func (u *unusableError) Error() string { return u.reason }

// errRefused marks a Secret that must not be overwritten, since another user put it there.
var errRefused = errors.New("refused")

func refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %w", errRefused, fmt.Errorf(format, a...))
}

// read takes the roots out of the Secret. The error is an *unusable where the content may be
// replaced, and errRefused where a person has to decide.
func read(secret *corev1.Secret, now time.Time) (*storedCA, error) {
	if secret.Labels[common.ManagedByLabel] != common.ManagedBy {
		return nil, refuse("it does not carry the label %s=%s, so it is not the operator's to use: delete the Secret, or add the label to let the operator have it",
			common.ManagedByLabel, common.ManagedBy)
	}
	certificate, key := secret.Data[certs.CertKey], secret.Data[certs.PrivateKey]
	// A bundle that does not parse is not worth an outage: the root itself is always trusted.
	trusted, _ := pemfile.ParseCertificates(secret.Data[certs.CAKey])
	trusted = authorities(trusted)
	if len(certificate) == 0 && len(key) == 0 {
		return nil, &unusableError{"it is empty", trusted}
	}
	if len(key) == 0 || len(certificate) == 0 {
		missing := certs.PrivateKey
		if len(key) > 0 {
			missing = certs.CertKey
		}
		return nil, refuse("it has no %s while the other half of the pair is there: put the missing half back, or delete the Secret to have a new authority made", missing)
	}
	chain, err := pemfile.ParseCertificates(certificate)
	if err != nil {
		return nil, &unusableError{fmt.Sprintf("%s %v", certs.CertKey, err), trusted}
	}
	former := append(authorities(chain), trusted...)
	signer, err := certs.ParseKey(key)
	if err != nil {
		return nil, &unusableError{fmt.Sprintf("%s %v", certs.PrivateKey, err), former}
	}
	if !certs.Matches(chain[0], signer) {
		return nil, refuse("%s does not belong to the certificate in %s: put the pair right, or delete the Secret to have a new authority made", certs.PrivateKey, certs.CertKey)
	}
	if len(authorities(chain)) != len(chain) {
		return nil, refuse("%s holds a certificate that is not a certificate authority: put an authority there, or delete the Secret to have one made", certs.CertKey)
	}
	if now.Before(chain[0].NotBefore) {
		return nil, fmt.Errorf("its certificate is valid from %s only, and here it is %s: check the clocks",
			chain[0].NotBefore.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	found := &storedCA{signer: &root{chain: chain, key: signer}, trusted: trusted, secret: secret}
	next := readNext(secret, now)
	found.status = readRotationStatus(secret, found.signer, next)
	if found.status.Next != "" {
		found.next = next
	}
	if found.next == nil && !now.Before(found.signer.expiry()) {
		return nil, &unusableError{fmt.Sprintf("its certificate expired at %s", found.signer.expiry().Format(time.RFC3339)), former}
	}
	return found, nil
}

// readNext takes the next root out of the Secret; nil where there is none that could sign. Nothing
// is lost by a broken one: another is made.
func readNext(secret *corev1.Secret, now time.Time) *root {
	chain, err := pemfile.ParseCertificates(secret.Data[NextCertKey])
	if err != nil || len(authorities(chain)) != len(chain) || !now.Before(chain[0].NotAfter) {
		return nil
	}
	key, err := certs.ParseKey(secret.Data[NextPrivateKey])
	if err != nil || !certs.Matches(chain[0], key) {
		return nil
	}
	return &root{chain: chain, key: key}
}

// authorities are those of the certificates that may sign others.
func authorities(certificates []*x509.Certificate) []*x509.Certificate {
	var found []*x509.Certificate
	for _, one := range certificates {
		signs := one.KeyUsage == 0 || one.KeyUsage&x509.KeyUsageCertSign != 0
		if one.BasicConstraintsValid && one.IsCA && signs {
			found = append(found, one)
		}
	}
	return found
}

// newSecret is the Secret as it is created, without content.
func newSecret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels:    map[string]string{common.ManagedByLabel: common.ManagedBy},
			Annotations: map[string]string{
				"fairlead.dev/description": "The authority that signs the webhook's certificates. Never mount it. To have another one made, give the annotation " +
					RotateAnnotation + " a new value; where the key is compromised, delete the Secret.",
			},
		},
		Type: corev1.SecretTypeTLS,
	}
}
