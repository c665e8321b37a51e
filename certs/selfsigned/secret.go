// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

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
