// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs/internal/retry"
)

// maxRaces bounds how often a lost race is answered by reading again at once.
const maxRaces = 5

// synchronize brings the Secret and this replica to the same root: it reads the Secret, makes or
// replaces the content where it must, and adopts the outcome.
func (a *Authority) synchronize(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range maxRaces {
		found, err := a.obtain(ctx)
		if lost(err) {
			continue // another replica wrote first; its root is ours too
		}
		if err != nil {
			return a.explain(err)
		}
		return a.adopt(found)
	}
	return fmt.Errorf("secret %s: %d writes in a row were overtaken by others", a, maxRaces)
}

// obtain reads the root of the Secret, and writes one where there is none that could be used.
func (a *Authority) obtain(ctx context.Context) (*root, error) {
	secret, err := a.secrets.Get(ctx, a.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		a.options.Log.Info("making a certificate authority", "secret", a.String())
		return a.write(ctx, blank(a.options.Namespace, a.options.Name), a.former())
	}
	if err != nil {
		return nil, err
	}
	found, err := read(secret, a.options.Clock.Now())
	var replace *unusable
	if errors.As(err, &replace) {
		a.options.Log.Info("replacing the certificate authority", "secret", a.String(), "reason", replace.reason)
		return a.write(ctx, secret, append(replace.former, a.former()...))
	}
	return found, err
}

// write puts a new root into the Secret: created where it has no resourceVersion, and otherwise
// updated against it. The root is read back from the answer, as any other replica would read it.
func (a *Authority) write(ctx context.Context, secret *corev1.Secret, former []*x509.Certificate) (*root, error) {
	now := a.options.Clock.Now()
	made, err := mint(now, a.options.RootValidity, former)
	if err != nil {
		return nil, err
	}
	secret = secret.DeepCopy()
	if secret.Data, err = made.data(); err != nil {
		return nil, err
	}
	var written *corev1.Secret
	if secret.ResourceVersion == "" {
		written, err = a.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		written, err = a.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, err
	}
	return read(written, now)
}

// lost says whether another replica was faster: the Secret appeared, changed or vanished between
// reading and writing.
func lost(err error) bool {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return true
	}
	var status apierrors.APIStatus // a missing namespace is "not found" too, and no race
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Kind == "secrets"
}

// explain adds the Secret's name, and the remedy where it is known.
func (a *Authority) explain(err error) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return retry.Stubborn(fmt.Errorf("secret %s: the operator may not use it: allow its service account to create secrets in namespace %s, and to get, update and watch %q (the roles of config/rbac do): %w",
			a, a.options.Namespace, a.options.Name, err))
	case apierrors.IsNotFound(err):
		return fmt.Errorf("secret %s: cannot be made: create namespace %s: %w", a, a.options.Namespace, err)
	case apierrors.IsInvalid(err):
		return retry.Stubborn(fmt.Errorf("secret %s: cannot be replaced, delete it: %w", a, err)) // such as an immutable one
	}
	return fmt.Errorf("secret %s: %w", a, err)
}
