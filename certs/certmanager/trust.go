// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// untilKey is the key of the trust Secret, beside ca.crt, with the time until which each authority stays.
const untilKey = "until.json"

// maxTrusted bounds the trusted authorities. Beyond it the one is removed first whose certificates expire
// first.
const maxTrusted = 8

// trusted is an authority and when the last known certificate of it expires. Without a time it stays until
// it expires itself, such as one that an administrator has added.
type trusted struct {
	certificate *x509.Certificate
	until       time.Time
}

// trust is the list of trusted authorities in the order in which they were added. It is immutable.
type trust []trusted

// latestUntil is before the end of the years that JSON has: a certificate that never expires has its last second (RFC 5280, 4.1.2.5).
var latestUntil = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)

// with adds the authorities, or extends the time of existing ones.
func (t trust) with(authorities []*x509.Certificate, until time.Time) trust {
	if until.After(latestUntil) {
		until = latestUntil
	}
	next := slices.Clone(t)
	for _, one := range authorities {
		at := slices.IndexFunc(next, func(each trusted) bool { return each.certificate.Equal(one) })
		switch {
		case at < 0:
			next = append(next, trusted{one, until})
		case !next[at].until.IsZero() && next[at].until.Before(until):
			next[at].until = until
		}
	}
	return next
}

// without removes authorities that have no valid certificate left, but none that is in use.
func (t trust) without(now time.Time, inUse []*x509.Certificate) trust {
	var next trust
	for _, one := range t {
		over := now.After(one.certificate.NotAfter) || !one.until.IsZero() && now.After(one.until)
		if !over || certs.Contains(inUse, one.certificate) {
			next = append(next, one)
		}
	}
	for len(next) > maxTrusted {
		first := -1
		for i, one := range next {
			if !certs.Contains(inUse, one.certificate) && (first < 0 || one.expiry().Before(next[first].expiry())) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		next = slices.Delete(next, first, first+1)
	}
	return next
}

func (t trusted) expiry() time.Time {
	if t.until.IsZero() || t.certificate.NotAfter.Before(t.until) {
		return t.certificate.NotAfter
	}
	return t.until
}

func (t trust) certificates() []*x509.Certificate {
	all := make([]*x509.Certificate, 0, len(t))
	for _, one := range t {
		all = append(all, one.certificate)
	}
	return all
}

// bundle is what clients must trust.
func (t trust) bundle() []byte { return certs.EncodeCertificates(t.certificates()...) }

// data is the content of the trust Secret.
func (t trust) data() (map[string][]byte, error) {
	until := map[string]time.Time{}
	for _, one := range t {
		if !one.until.IsZero() {
			until[certs.Fingerprint(one.certificate)] = one.until.UTC().Truncate(time.Second)
		}
	}
	text, err := json.Marshal(until)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{certs.CAKey: t.bundle(), untilKey: text}, nil
}

// readTrust is the reverse of data. Invalid content is ignored: authorities in use are added again, and an
// invalid bundle must not cause an outage.
func readTrust(data map[string][]byte) trust {
	certificates, err := pemfile.ParseCertificates(data[certs.CAKey])
	if err != nil {
		return nil
	}
	var until map[string]time.Time
	if err := json.Unmarshal(data[untilKey], &until); err != nil {
		until = nil
	}
	var found trust
	for _, one := range certificates {
		if !certs.Contains(found.certificates(), one) {
			found = append(found, trusted{one, until[certs.Fingerprint(one)]})
		}
	}
	return found
}

// maxRaces bounds how often a write conflict is followed by another attempt at once.
const maxRaces = 5

// readIssued reads the Certificate's Secret.
func (s *Source) readIssued(ctx context.Context) (*keypair.Pair, error) {
	identity := "secret " + s.options.Namespace + "/" + s.options.SecretName
	secret, err := s.secrets.Get(ctx, s.options.SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, retry.Bounded(fmt.Errorf("%s: does not exist yet", identity))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, retry.Bounded(fmt.Errorf("%s: the operator may not read it: allow its service account to get and watch it by name (the roles of config/rbac do for the default name): %w", identity, err))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", identity, err)
	}
	found, err := keypair.Parse(keypair.Contents{
		Certificate: secret.Data[certs.CertKey], Key: secret.Data[certs.PrivateKey], CA: secret.Data[certs.CAKey],
	}, s.options.serverName(), s.options.Clock.Now())
	if err != nil {
		return nil, retry.Bounded(fmt.Errorf("%s: %w", identity, err))
	}
	return found, nil
}

// updateTrust adds the authorities of a pair, and those of other sources, to the trust Secret, removes those
// that are over, and returns the result. After a write conflict it reads again.
func (s *Source) updateTrust(ctx context.Context, found *keypair.Pair, others []byte) (trust, error) {
	identity := "secret " + s.options.Namespace + "/" + trustSecretName
	for range maxRaces {
		all, err := s.updateTrustOnce(ctx, found, others)
		switch {
		case err == nil:
			return all, nil
		case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
			continue
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return nil, retry.Bounded(fmt.Errorf("%s: the operator may not use it: allow its service account to create secrets in namespace %s, and to get, update and watch %q (the roles of config/rbac do): %w",
				identity, s.options.Namespace, trustSecretName, err))
		default:
			return nil, fmt.Errorf("%s: %w", identity, err)
		}
	}
	return nil, fmt.Errorf("%s: %d writes in a row were overtaken by others", identity, maxRaces)
}

func (s *Source) updateTrustOnce(ctx context.Context, found *keypair.Pair, others []byte) (trust, error) {
	secret, err := s.secrets.Get(ctx, trustSecretName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	absent := err != nil
	if absent {
		secret = newTrustSecret(s.options.Namespace)
	} else if secret.Labels[common.ManagedByLabel] != common.ManagedBy {
		return nil, retry.Bounded(fmt.Errorf("%w: it does not carry the label %s=%s, so it is not the operator's to use: delete the Secret, or add the label to let the operator have it",
			errRefused, common.ManagedByLabel, common.ManagedBy))
	}
	all := readTrust(secret.Data)
	if found.Roots != nil {
		former, err := s.formerAuthorities(ctx, all, absent)
		if err != nil {
			return nil, err
		}
		others = append(bytes.Clone(others), former...)
	}
	if len(all) == 0 && s.options.Published != nil && s.served.Load() == nil {
		published, err := s.published(ctx)
		if err != nil {
			return nil, err
		}
		others = append(bytes.Clone(others), published...)
	}
	// Those that do not parse were never published either.
	if authorities, err := pemfile.ParseCertificates(others); err == nil {
		all = all.with(authorities, s.otherSourcesExpiry())
	}
	inUse := found.Roots
	// What is served is trusted for as long as it is served, also where the Secret was deleted or emptied.
	if served := s.served.Load(); served != nil && !served.Same(found) {
		all = all.with(served.Roots, served.Served.Leaf.NotAfter.Add(skew))
		inUse = slices.Concat(inUse, served.Roots)
	}
	all = all.with(found.Roots, found.Served.Leaf.NotAfter.Add(skew)).without(s.options.Clock.Now(), inUse)
	if len(all) == 0 {
		return nil, nil // the issuer has no root, and never had
	}
	data, err := all.data()
	if err != nil {
		return nil, err
	}
	if maps.EqualFunc(secret.Data, data, func(a, b []byte) bool { return string(a) == string(b) }) {
		return all, nil
	}
	secret = secret.DeepCopy()
	secret.Data = data
	if absent {
		_, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		_, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return all, err
}

// formerAuthorities returns the authorities of another source whose replicas may still serve: at the first use of this source all
// that it knows, and where a replica starts later those that targets trust now and the list lacks.
func (s *Source) formerAuthorities(ctx context.Context, all trust, first bool) ([]byte, error) {
	if s.options.FormerAuthorities == nil || !first && (s.options.Published == nil || s.served.Load() != nil) {
		return nil, nil
	}
	text := s.options.FormerAuthorities(ctx)
	if first {
		return text, nil
	}
	former, _ := pemfile.ParseCertificates(text) // what does not parse was never published either
	former = slices.DeleteFunc(former, func(one *x509.Certificate) bool { return certs.Contains(all.certificates(), one) })
	if len(former) == 0 {
		return nil, nil
	}
	text, err := s.published(ctx)
	if err != nil {
		return nil, err
	}
	published, _ := pemfile.ParseCertificates(text) // what does not parse is not trusted either
	former = slices.DeleteFunc(former, func(one *x509.Certificate) bool { return !certs.Contains(published, one) })
	return certs.EncodeCertificates(former...), nil
}

// published returns, as PEM, what targets trust now.
func (s *Source) published(ctx context.Context) ([]byte, error) {
	text, err := s.options.Published(ctx)
	if err != nil {
		return nil, fmt.Errorf("the authorities that are trusted now cannot be read, and are not replaced: %w", err)
	}
	return text, nil
}

// Join has replicas with this source trust the authorities of another one too, until a time, and returns the authorities by which
// they are trusted themselves, for as long as a certificate of them is valid. It returns none where this source is not in use.
func Join(
	ctx context.Context, secrets corev1client.SecretInterface, others []*x509.Certificate, until, now time.Time,
) ([]*x509.Certificate, error) {
	var err error
	for range maxRaces {
		var secret *corev1.Secret
		secret, err = secrets.Get(ctx, trustSecretName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		case secret.Labels[common.ManagedByLabel] != common.ManagedBy:
			return nil, nil
		}
		all := readTrust(secret.Data).without(now, nil)
		var own []*x509.Certificate
		for _, one := range all {
			if !one.until.IsZero() && !certs.Contains(others, one.certificate) {
				own = append(own, one.certificate)
			}
		}
		if len(own) == 0 {
			return nil, nil
		}
		secret = secret.DeepCopy()
		if secret.Data, err = all.with(others, until).data(); err != nil {
			return nil, err
		}
		if _, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return own, err
		}
	}
	return nil, err
}

// newTrustSecret returns the trust Secret without content. It is a Secret and not a ConfigMap, since a user
// who may write it decides what the API server trusts. The annotation lets cert-manager's CA injector read
// ca.crt from it.
func newTrustSecret(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      trustSecretName,
			Labels:    map[string]string{common.ManagedByLabel: common.ManagedBy},
			Annotations: map[string]string{
				certmanagerv1.AllowsInjectionFromSecretAnnotation: "true",
				"fairlead.dev/description":                        "The authorities by which the webhook's certificate is trusted, and until when. Delete it to trust the present one only.",
			},
		},
		Type: corev1.SecretTypeOpaque,
	}
}
