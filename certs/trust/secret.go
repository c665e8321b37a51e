// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
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

// SecretName is the name of the Secret with the trusted authorities.
const SecretName = "fairlead-webhook-trust"

// maxRaces bounds how often a write conflict is followed by another attempt at once.
const maxRaces = 5

// errRefused marks a Secret that an administrator has to change.
var errRefused = errors.New("refused")

// until is when the last certificate expires that a source signs now with this validity. It changes rarely, since all
// replicas write it.
func until(now time.Time, validity time.Duration) time.Time {
	step := validity / 4
	return now.Truncate(step).Add(step + validity + skew)
}

// identity names the Secret in errors.
func (h *Holder) identity() string { return "secret " + h.options.Namespace + "/" + SecretName }

// update adds the authorities of a pair, and those of other sources, to the Secret, removes those that are over, and
// returns the result with the pair. After a write conflict it reads again.
func (h *Holder) update(ctx context.Context, found *keypair.Pair, others []byte) (list, *keypair.Pair, error) {
	if h.options.Secrets == nil {
		return list(nil).with(found.Roots, time.Time{}), found, nil
	}
	for range maxRaces {
		all, resolved, err := h.updateOnce(ctx, found, others)
		switch {
		case err == nil:
			return all, resolved, nil
		case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
			continue
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return nil, nil, retry.Bounded(fmt.Errorf("%s: the operator may not use it: allow its service account to create secrets in namespace %s, and to get, update and watch %q (the roles of config/rbac do): %w",
				h.identity(), h.options.Namespace, SecretName, err))
		default:
			return nil, nil, fmt.Errorf("%s: %w", h.identity(), err)
		}
	}
	return nil, nil, fmt.Errorf("%s: %d writes in a row were overtaken by others", h.identity(), maxRaces)
}

func (h *Holder) updateOnce(ctx context.Context, found *keypair.Pair, others []byte) (list, *keypair.Pair, error) {
	secret, err := h.options.Secrets.Get(ctx, SecretName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, err
	}
	absent := err != nil
	if absent {
		secret = newSecret(h.options.Namespace)
	} else if secret.Labels[common.ManagedByLabel] != common.ManagedBy {
		return nil, nil, retry.Bounded(fmt.Errorf("%w: it does not carry the label %s=%s, so it is not the operator's to use: delete the Secret, or add the label to let the operator have it",
			errRefused, common.ManagedByLabel, common.ManagedBy))
	}
	now := h.options.Clock.Now()
	all := readList(secret.Data)
	first := len(all) == 0
	// What is served is trusted for as long as it is served, also where the Secret was deleted or emptied.
	var inUse []*x509.Certificate
	served := h.served.Load()
	if served != nil {
		inUse = served.Roots
		all = all.with(inUse, served.Served.Leaf.NotAfter.Add(skew))
	}
	if found.Roots != nil {
		former, err := h.formerAuthorities(ctx, all, absent)
		if err != nil {
			return nil, nil, err
		}
		others = append(bytes.Clone(others), former...)
	}
	if first && served == nil && h.options.Published != nil {
		published, err := h.published(ctx)
		if err != nil {
			return nil, nil, err
		}
		others = append(bytes.Clone(others), published...)
	}
	// Those that do not parse were never published either.
	if authorities, err := pemfile.ParseCertificates(others); err == nil {
		all = all.with(authorities, until(now, h.options.Validity))
	}
	if found, err = h.resolve(found, all.without(now, inUse), now); err != nil {
		return nil, nil, err
	}
	all = all.with(found.Roots, found.Served.Leaf.NotAfter.Add(skew)).without(now, slices.Concat(inUse, found.Roots))
	if len(all) == 0 {
		return nil, found, nil // the issuer has no root, and never had
	}
	return all, found, h.store(ctx, secret, absent, all)
}

// resolve returns the pair with the authorities by which it is trusted, where it has no ca.crt and others are trusted already.
func (h *Holder) resolve(found *keypair.Pair, all list, now time.Time) (*keypair.Pair, error) {
	if found.Roots != nil || len(all) == 0 {
		return found, nil
	}
	roots, err := found.TrustedBy(all.certificates(), now)
	switch served := h.served.Load(); {
	case err == nil:
	case served != nil && served.Served.Leaf.NotAfter.Before(now.Add(lastMoment)):
		return found, nil // what is served would soon be refused too
	default:
		return nil, retry.Bounded(fmt.Errorf("%s has no ca.crt, and the authorities that are trusted so far would refuse its certificate: %w: have ca.crt filled with its authority, or, where the API server trusts it without, delete the Secret %s and every caBundle",
			h.options.Source, err, SecretName))
	}
	return &keypair.Pair{Served: found.Served, Roots: roots, Bundle: certs.EncodeCertificates(roots...)}, nil
}

// store writes the list into the Secret where it differs, and creates one that is absent.
func (h *Holder) store(ctx context.Context, secret *corev1.Secret, absent bool, all list) error {
	changed, err := withList(secret, all)
	if changed == nil || err != nil {
		return err
	}
	if absent {
		_, err = h.options.Secrets.Create(ctx, changed, metav1.CreateOptions{})
	} else {
		_, err = h.options.Secrets.Update(ctx, changed, metav1.UpdateOptions{})
	}
	return err
}

// withList returns the Secret with the list; nil where it has it.
func withList(secret *corev1.Secret, all list) (*corev1.Secret, error) {
	data, err := all.data()
	if err != nil || maps.EqualFunc(secret.Data, data, bytes.Equal) {
		return nil, err
	}
	changed := secret.DeepCopy()
	changed.Data = data
	return changed, nil
}

// formerAuthorities returns the authorities of another source whose replicas may still serve: at the first use of the Secret all
// that it knows, and where a replica starts later those that targets trust now and the list lacks.
func (h *Holder) formerAuthorities(ctx context.Context, all list, first bool) ([]byte, error) {
	if h.options.FormerAuthorities == nil || !first && (h.options.Published == nil || h.served.Load() != nil) {
		return nil, nil
	}
	text := h.options.FormerAuthorities(ctx)
	if first {
		return text, nil
	}
	former, _ := pemfile.ParseCertificates(text) // what does not parse was never published either
	former = slices.DeleteFunc(former, func(one *x509.Certificate) bool { return certs.Contains(all.certificates(), one) })
	if len(former) == 0 {
		return nil, nil
	}
	text, err := h.published(ctx)
	if err != nil {
		return nil, err
	}
	published, _ := pemfile.ParseCertificates(text) // what does not parse is not trusted either
	former = slices.DeleteFunc(former, func(one *x509.Certificate) bool { return !certs.Contains(published, one) })
	return certs.EncodeCertificates(former...), nil
}

// published returns, as PEM, what targets trust now.
func (h *Holder) published(ctx context.Context) ([]byte, error) {
	text, err := h.options.Published(ctx)
	if err != nil {
		return nil, fmt.Errorf("the authorities that are trusted now cannot be read, and are not replaced: %w", err)
	}
	return text, nil
}

// Join has replicas with other sources trust the authorities of a source that does not keep the Secret, whose certificates have
// this validity. It returns those by which the others are trusted, for as long as a certificate of them is valid; none
// where no other source is in use. Those that were read are returned with the error of a write.
func Join(
	ctx context.Context, secrets corev1client.SecretInterface, own []*x509.Certificate, validity time.Duration, now time.Time,
) (others []*x509.Certificate, err error) {
	for range maxRaces {
		var secret *corev1.Secret
		secret, err = secrets.Get(ctx, SecretName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("secret %s: %w", SecretName, err)
		case secret.Labels[common.ManagedByLabel] != common.ManagedBy:
			return nil, nil
		}
		all := readList(secret.Data).without(now, nil)
		others = nil
		for _, one := range all {
			if !one.until.IsZero() && !certs.Contains(own, one.certificate) {
				others = append(others, one.certificate)
			}
		}
		if len(others) == 0 {
			return nil, nil
		}
		changed, dataErr := withList(secret, all.with(own, until(now, validity)).without(now, own))
		if changed == nil || dataErr != nil {
			return others, dataErr
		}
		if _, err = secrets.Update(ctx, changed, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("secret %s: %w", SecretName, err)
	}
	return others, err
}

// newSecret returns the Secret without content. It is a Secret and not a ConfigMap, since a user who may write it decides what
// the API server trusts. The annotation lets cert-manager's CA injector read ca.crt from it.
func newSecret(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      SecretName,
			Labels:    map[string]string{common.ManagedByLabel: common.ManagedBy},
			Annotations: map[string]string{
				certmanagerv1.AllowsInjectionFromSecretAnnotation: "true",
				"fairlead.dev/description":                        "The authorities by which the webhook's certificate is trusted, and until when. Delete it to trust the present one only.",
			},
		},
		Type: corev1.SecretTypeOpaque,
	}
}
