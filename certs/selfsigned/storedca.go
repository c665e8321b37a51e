// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/x509"
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

// storedCA is the parsed content of the Secret.
type storedCA struct {
	secret  *corev1.Secret
	signer  *root               // tls.crt and tls.key
	next    *root               // next.crt and next.key, while a rotation needs them
	trusted []*x509.Certificate // ca.crt
	status  rotationStatus
}

// trustedRoots are all roots that clients must trust. The newest comes first, as it does once it signs, so
// that the bytes are the same before and after.
func (s *storedCA) trustedRoots() []*x509.Certificate {
	var all []*x509.Certificate
	if s.next != nil {
		all = append(all, s.next.chain...)
	}
	all = append(all, s.signer.chain...)
	return append(all, s.trusted...)
}

func (s *storedCA) bundle() []byte { return certs.EncodeCertificates(s.trustedRoots()...) }

// formerExpiry returns when the last of the previous roots expires.
func (s *storedCA) formerExpiry() time.Time {
	var last time.Time
	for _, one := range s.trusted {
		if s.status.isFormer(one) && one.NotAfter.After(last) {
			last = one.NotAfter
		}
	}
	return last
}

// rotationReason is why another root is due; empty where none is.
func (s *storedCA) rotationReason(now time.Time) string {
	certificate := s.signer.certificate()
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	if now.After(certificate.NotAfter.Add(-life / 10)) {
		return "90% of its lifetime has passed; it expires at " + certificate.NotAfter.Format(time.RFC3339)
	}
	if asked := s.secret.Annotations[RotateAnnotation]; asked != "" && asked != s.secret.Annotations[RotatedAnnotation] {
		return "the annotation " + RotateAnnotation + " asks for it"
	}
	return ""
}

// rotationDueAt is when the age of the root makes another one due.
func (s *storedCA) rotationDueAt() time.Time {
	certificate := s.signer.certificate()
	return certificate.NotAfter.Add(-certificate.NotAfter.Sub(certificate.NotBefore) / 10)
}

// The annotations of the Secret, and its keys beside those of every TLS Secret.
const (
	// RotateAnnotation requests another root by any value that differs from RotatedAnnotation.
	RotateAnnotation = "fairlead.dev/rotate"

	// RotatedAnnotation is the last value of RotateAnnotation that was processed.
	RotatedAnnotation = "fairlead.dev/rotated"

	// RotationAnnotation is the state of a rotation as JSON. It is absent where none is in progress.
	RotationAnnotation = "fairlead.dev/rotation"

	// NextCertKey and NextPrivateKey hold the next root until it signs. They are separate keys, so that
	// an older operator, which knows nothing of rotations, finds a working pair in tls.crt and tls.key.
	NextCertKey    = "next.crt"
	NextPrivateKey = "next.key"
)

// rotationStatus is the state of a rotation as stored in the Secret. It names the roots it is about, and
// has no effect once a user has replaced them.
type rotationStatus struct {
	Phase  rotation.Phase `json:"phase"`
	Since  time.Time      `json:"since"`
	Reason string         `json:"reason,omitempty"`

	// Observed is whether, in the phase Signing, the root that signs was observed everywhere, and Settled
	// whether API servers have had the time to read it.
	Observed bool `json:"observed,omitempty"`
	Settled  bool `json:"settled,omitempty"`

	// Root is the fingerprint of the root that signs, Next of the one that will, and Former of those
	// whose trust ends with the rotation.
	Root   string   `json:"root"`
	Next   string   `json:"next,omitempty"`
	Former []string `json:"former,omitempty"`

	// LeafSeconds is the longest validity of a serving certificate among the replicas that took part.
	LeafSeconds int64 `json:"leafSeconds,omitempty"`
}

// readRotationStatus returns the stored state of a rotation of these roots; Stable where there is none, or
// one of other roots.
func readRotationStatus(secret *corev1.Secret, current, next *root) rotationStatus {
	stable := rotationStatus{Phase: rotation.Stable}
	var found rotationStatus
	text, there := secret.Annotations[RotationAnnotation]
	if !there || json.Unmarshal([]byte(text), &found) != nil || found.Root != certs.Fingerprint(current.certificate()) {
		return stable
	}
	switch found.Phase {
	case rotation.Publishing, rotation.Observed:
		if next == nil || found.Next != certs.Fingerprint(next.certificate()) {
			return stable
		}
	case rotation.Signing, rotation.Retiring:
	default:
		return stable
	}
	return found
}

// writeTo sets the annotation, or removes it where no rotation is in progress.
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

// withPhase returns the status in a phase that begins now.
func (r rotationStatus) withPhase(phase rotation.Phase, now time.Time, leaf time.Duration) rotationStatus {
	r.Phase, r.Since = phase, now.UTC()
	r.LeafSeconds = max(r.LeafSeconds, int64(leaf/time.Second))
	return r
}

// isFormer reports whether the certificate is among the previous roots.
func (r rotationStatus) isFormer(certificate *x509.Certificate) bool {
	return slices.Contains(r.Former, certs.Fingerprint(certificate))
}

// unusableError is an invalid Secret of ours with nothing worth keeping: it is replaced. The roots that
// could be parsed stay trusted.
type unusableError struct {
	reason string
	former []*x509.Certificate
}

func (u *unusableError) Error() string { return u.reason }

// errRefused marks a Secret that must not be overwritten, since another user created it.
var errRefused = errors.New("refused")

func refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %w", errRefused, fmt.Errorf(format, a...))
}

// read parses the Secret. The error is an *unusableError where the content may be replaced, and wraps
// errRefused where an administrator has to decide.
func read(secret *corev1.Secret, now time.Time) (*storedCA, error) {
	if secret.Labels[common.ManagedByLabel] != common.ManagedBy {
		return nil, refuse("it does not carry the label %s=%s, so it is not the operator's to use: delete the Secret, or add the label to let the operator have it",
			common.ManagedByLabel, common.ManagedBy)
	}
	certificate, key := secret.Data[certs.CertKey], secret.Data[certs.PrivateKey]
	// An invalid bundle must not cause an outage: the root itself is always trusted.
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
		return nil, refuse("%s does not belong to the certificate in %s: correct the pair, or delete the Secret to have a new authority made", certs.PrivateKey, certs.CertKey)
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

// readNext parses the next root; nil where none could sign. An invalid one is replaced.
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

// newSecret returns the Secret as it is created, without data.
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
