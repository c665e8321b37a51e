// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// leavesEach is how many certificates each replica must have shown, so that it has renewed twice.
	leavesEach = 3
	// renewedWithin bounds two renewals of a certificate that is valid for a minute, and one by
	// cert-manager.
	renewedWithin = 5 * time.Minute
	// rotatedWithin bounds a change of the root, from the request to the end of the trust in the old
	// one, which lasts for as long as certificates that it signed do.
	rotatedWithin = 10 * time.Minute

	// rootSecret holds the root, and rotateAnnotation asks for another one.
	rootSecret       = "fairlead-webhook-ca"
	rotateAnnotation = "fairlead.dev/rotate"
	// rotationAnnotation stands there while the change goes on.
	rotationAnnotation = "fairlead.dev/rotation"

	// servingCertificate and rootCertificate are what cert-manager is asked for.
	servingCertificate = "fairlead-webhook"
	rootCertificate    = "fairlead-webhook-root"
)

// rotateLeaves waits until every replica has renewed its certificate twice.
func rotateLeaves(ctx context.Context, a *attempt) error {
	w, err := a.watch(ctx)
	if err != nil {
		return err
	}
	defer w.close(a)
	if err := w.shows(ctx, leavesEach); err != nil {
		return err
	}
	a.note("every replica has renewed its certificate %d times", leavesEach-1)
	return nil
}

// rotateAuthority asks for another root, and waits until all replicas show what it signed, and
// no client trusts the old one any more.
func rotateAuthority(ctx context.Context, a *attempt) error {
	w, err := a.watch(ctx)
	if err != nil {
		return err
	}
	defer w.close(a)
	before := w.signers()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: framework.Namespace, Name: rootSecret}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, rotateAnnotation, time.Now().UTC().Format(time.RFC3339))
	if err := a.admin.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return err
	}
	began := time.Now()
	a.printf("another root is asked for")
	if err := framework.Eventually(ctx, rotatedWithin, func(context.Context) error {
		now := w.signers()
		for root := range before {
			if now[root] > 0 {
				return fmt.Errorf("%d replicas show a certificate of the root before", now[root])
			}
		}
		if len(now) != 1 {
			return fmt.Errorf("the replicas show certificates of %d roots", len(now))
		}
		return nil
	}); err != nil {
		return err
	}
	signed := time.Since(began)
	if err := framework.Eventually(ctx, rotatedWithin, func(ctx context.Context) error {
		if err := a.admin.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if phase := secret.Annotations[rotationAnnotation]; phase != "" {
			return fmt.Errorf("the rotation goes on: %s", phase)
		}
		return nil
	}); err != nil {
		return err
	}
	// And the bundles that were published with both of them are written once more.
	if err := framework.Eventually(ctx, rotatedWithin, func(context.Context) error {
		for where, n := range w.trusted() {
			if n != 1 {
				return fmt.Errorf("the bundle of %s has %d certificates", where, n)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	a.note("every replica showed a certificate of another root %s after it was asked for, and the old root was no longer trusted after %s",
		signed.Round(time.Second), time.Since(began).Round(time.Second))
	return nil
}

// renewIssued has cert-manager issue again, twice: the serving certificate under the same authority,
// and then the authority and the serving certificate under it.
func renewIssued(ctx context.Context, a *attempt) error {
	w, err := a.watch(ctx)
	if err != nil {
		return err
	}
	defer w.close(a)
	for i, again := range [][]string{{servingCertificate}, {rootCertificate, servingCertificate}} {
		for _, name := range again {
			if err := a.issueAgain(ctx, name); err != nil {
				return err
			}
		}
		if err := w.shows(ctx, i+2); err != nil {
			return err
		}
	}
	if n := len(w.signers()); n != 1 {
		a.wrong("the replicas show certificates of %d authorities", n)
	}
	a.note("cert-manager issued the serving certificate again, then its authority and the serving certificate")
	return nil
}

// issueAgain asks cert-manager for another certificate, as `cmctl renew` does, and waits for it.
func (a *attempt) issueAgain(ctx context.Context, name string) error {
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
	var revision int64
	ask := func(ctx context.Context) error { // another writer of the status may win
		if err := a.admin.Get(ctx, client.ObjectKey{Namespace: framework.Namespace, Name: name}, certificate); err != nil {
			return err
		}
		var err error
		if revision, _, err = unstructured.NestedInt64(certificate.Object, "status", "revision"); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		if err != nil {
			return err
		}
		conditions = append(conditions, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "asked for",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
		})
		if err := unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions"); err != nil {
			return err
		}
		return a.admin.Status().Update(ctx, certificate)
	}
	if err := framework.Eventually(ctx, startTimeout, ask); err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	a.printf("certificate %s is issued again", name)
	return framework.Eventually(ctx, startTimeout, func(ctx context.Context) error {
		if err := a.admin.Get(ctx, client.ObjectKeyFromObject(certificate), certificate); err != nil {
			return err
		}
		now, _, err := unstructured.NestedInt64(certificate.Object, "status", "revision")
		if err == nil && now <= revision {
			err = fmt.Errorf("certificate %s is still at revision %d", name, now)
		}
		return err
	})
}

// decode reads a caBundle as unstructured objects hold it.
func decode(encoded string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	return string(raw), err
}
