// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// maxRaces bounds how often a write conflict is followed by another attempt at once.
const maxRaces = 5

// synchronize reads the Secret, writes it where a root is missing or a transition is due, and uses the result.
func (a *Authority) synchronize(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range maxRaces {
		found, err := a.ensureRoot(ctx)
		if a.isWriteConflict(err) {
			continue // another replica wrote first
		}
		if err != nil {
			return a.explain(err)
		}
		if err := a.checkSigner(found); err != nil {
			return err
		}
		// Before a root is published, or replicas with another source would take it away again.
		if err := a.askOthers(ctx, found); err != nil && a.othersLog.Add(err) {
			a.options.Log.Info("the authorities of another source are not known, or do not know of this one", "reason", err.Error())
		} else if err == nil {
			a.othersLog.Reset()
		}
		return a.use(found)
	}
	return fmt.Errorf("secret %s: %d writes in a row were overtaken by others", a, maxRaces)
}

// ensureRoot reads the Secret, creates a root where none is usable, and makes a transition that is due.
func (a *Authority) ensureRoot(ctx context.Context) (*storedCA, error) {
	secret, err := a.secrets.Get(ctx, a.options.Name, metav1.GetOptions{})
	if apistatus.IsAbsent(err, corev1.Resource("secrets"), a.options.Name) {
		a.options.Log.Info("making a certificate authority", "secret", a.String())
		return a.writeNewRoot(ctx, newSecret(a.options.Namespace, a.options.Name), a.formerRoots(), "the Secret is new")
	}
	if err != nil {
		return nil, err
	}
	now := a.options.Clock.Now()
	found, err := read(secret, now)
	var replace *unusableError
	if errors.As(err, &replace) {
		a.options.Log.Info("replacing the certificate authority", "secret", a.String(), "reason", replace.reason)
		return a.writeNewRoot(ctx, secret, append(replace.former, a.formerRoots()...), replace.reason)
	}
	if err != nil {
		return nil, err
	}
	row, due := rotation.Next(found.status.Phase, a.decide(found, now).Event)
	if !due {
		return found, nil
	}
	changed, err := a.options.transition(found, row, now)
	if err != nil {
		return nil, err
	}
	written, err := a.write(ctx, changed)
	if err != nil {
		return nil, err
	}
	a.logTransition(row, written, found)
	return written, nil
}

// writeNewRoot writes a root that signs at once. What is published stays trusted: another replica may serve a
// certificate of a root that neither the Secret nor this replica knows.
func (a *Authority) writeNewRoot(ctx context.Context, secret *corev1.Secret, former []*x509.Certificate, reason string) (*storedCA, error) {
	if a.options.Published != nil {
		bundle, err := a.options.Published(ctx)
		if err != nil {
			return nil, fmt.Errorf("no authority is made before those that are trusted so far can be read: %w", err)
		}
		published, _ := pemfile.ParseCertificates(bundle) // what does not parse is not trusted either
		former = append(former, authorities(published)...)
	}
	made, err := a.options.withNewRoot(secret, former, reason, a.options.Clock.Now())
	if err != nil {
		return nil, err
	}
	return a.write(ctx, made)
}

// write creates the Secret where it has no resourceVersion, and otherwise updates it against that. The
// result is parsed from the response, as any other replica would read it.
func (a *Authority) write(ctx context.Context, secret *corev1.Secret) (*storedCA, error) {
	var written *corev1.Secret
	var err error
	if secret.ResourceVersion == "" {
		written, err = a.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		written, err = a.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, err
	}
	return read(written, a.options.Clock.Now())
}

// logTransition logs a transition that this replica made.
func (a *Authority) logTransition(row rotation.Transition, written, before *storedCA) {
	if row.Effect == rotation.CreateRoot && written.next != nil { // else a webhook has changed what was written
		a.options.Log.Info("replacing the certificate authority", "secret", a.String(), "reason", written.status.Reason,
			"serial", written.next.certificate().SerialNumber.Text(16))
	}
	a.options.Log.Info("rotation of the certificate authority", "secret", a.String(), "from", row.From, "to", row.To, "event", row.On)
	if row.Effect == rotation.PromoteUnobserved {
		a.options.Log.Error(fmt.Errorf("secret %s: the root expired at %s", a, before.signer.expiry().Format(time.RFC3339)),
			"the next root signs though it was not seen everywhere; find out what keeps the CA bundle from the webhook configurations and CRDs")
	}
}

// isWriteConflict reports whether another replica created, changed or deleted the Secret between reading
// and writing.
func (a *Authority) isWriteConflict(err error) bool {
	// A missing namespace is "not found" too, and no race.
	return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apistatus.IsAbsent(err, corev1.Resource("secrets"), a.options.Name)
}

// explain adds the Secret's name, and the remedy where it is known.
func (a *Authority) explain(err error) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return retry.Bounded(fmt.Errorf("secret %s: the operator may not use it: allow its service account to create secrets in namespace %s, and to get, update and watch %q (the roles of config/rbac do): %w",
			a, a.options.Namespace, a.options.Name, err))
	case apierrors.IsNotFound(err):
		return fmt.Errorf("secret %s: cannot be made: create namespace %s: %w", a, a.options.Namespace, err)
	case apierrors.IsInvalid(err):
		return retry.Bounded(fmt.Errorf("secret %s: cannot be replaced, delete it: %w", a, err)) // such as an immutable one
	}
	return fmt.Errorf("secret %s: %w", a, err)
}
