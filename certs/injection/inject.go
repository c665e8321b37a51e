// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/certs/internal/retry"
)

// maxRaces bounds how often a target that changed between reading and writing is read again at
// once.
const maxRaces = 5

// inject brings the bundle to the target and answers the result to count.
func (i *Injector) inject(ctx context.Context, t target, bundle []byte) (string, error) {
	for range maxRaces {
		object, err := i.get(ctx, t)
		if err != nil {
			return failed, explain(t, err)
		}
		slots, err := t.kind.slots(object)
		if err != nil {
			return failed, retry.Stubborn(fmt.Errorf("%s: %w", t, err))
		}
		outcome, annotation := judge(t.kind, object, slots, bundle)
		switch outcome {
		case leave:
			return unchanged, nil
		case foreign:
			return failed, retry.Stubborn(fmt.Errorf("%s: its annotation %s hands caBundle to cert-manager, which has put in none or another than the webhook's: remove the annotation, or serve the certificate that cert-manager issues", t, annotation))
		}
		err = i.apply(ctx, t, t.patch(object, slots, bundle), outcome == replace || i.options.TakeOver)
		if raced(err) {
			continue
		}
		if err != nil {
			return failed, explain(t, err)
		}
		if err := i.observe(ctx, t, bundle); err != nil {
			return failed, err
		}
		i.options.Log.Info("CA bundle written", "kind", t.kind.name, "name", t.name)
		return written, nil
	}
	return failed, fmt.Errorf("%s: changed %d times in a row between reading and writing", t, maxRaces)
}

// observe reads the target again: another writer, or a mutating webhook, may have had the last
// word.
func (i *Injector) observe(ctx context.Context, t target, bundle []byte) error {
	object, err := i.get(ctx, t)
	if err != nil {
		return explain(t, err)
	}
	slots, err := t.kind.slots(object)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	if outcome, _ := judge(t.kind, object, slots, bundle); outcome != leave {
		return fmt.Errorf("%s: the API server took the CA bundle, but another one stands there now: find out who else writes it (kubectl get --show-managed-fields)", t)
	}
	return nil
}

func (i *Injector) get(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	return i.options.Client.Resource(t.kind.resource).Get(ctx, t.name, metav1.GetOptions{})
}

func (i *Injector) apply(ctx context.Context, t target, patch *unstructured.Unstructured, force bool) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = i.options.Client.Resource(t.kind.resource).Patch(ctx, t.name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: FieldOwner, Force: &force})
	return err
}

// raced says whether the target changed between reading and writing. A conflict of owners is the
// same status, and no race.
func raced(err error) bool { return apierrors.IsConflict(err) && !owned(err) }

// owned says whether the write was refused because another field manager owns the bundle.
func owned(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			return true
		}
	}
	return false
}

// explain adds the target, and the remedy where it is known.
func explain(t target, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return retry.Stubborn(fmt.Errorf("%s: does not exist: install the CRDs and the webhook configurations first (make install): %w", t, err))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return retry.Stubborn(fmt.Errorf("%s: the operator may not use it: allow its service account to get and patch it by name (the roles of config/rbac do): %w", t, err))
	case owned(err):
		return retry.Stubborn(fmt.Errorf("%s: another field manager owns a different caBundle: leave caBundle out of what it applies and remove it from the object, or let the operator take it over: %w", t, err))
	case apierrors.IsInvalid(err):
		return retry.Stubborn(fmt.Errorf("%s: cannot take the CA bundle: install it anew (make install): %w", t, err))
	}
	return fmt.Errorf("%s: %w", t, err)
}
