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
		object, slots, err := i.read(ctx, t)
		if err != nil {
			return failed, err
		}
		outcome, annotation := judge(t.kind, object, slots, bundle)
		if outcome != leave && i.options.Latest != nil {
			if bundle, err = i.latest(ctx, t, bundle); err != nil {
				return failed, err
			}
			outcome, annotation = judge(t.kind, object, slots, bundle)
		}
		switch outcome {
		case leave:
			i.budget.stands(t)
			return unchanged, nil
		case foreign:
			return failed, retry.Stubborn(fmt.Errorf("%s: its annotation %s hands caBundle to cert-manager, which has put in none or another than the webhook's: remove the annotation, or serve the certificate that cert-manager issues", t, annotation))
		}
		if err := i.budget.ask(t, bundle, writer(t.kind, object, slots)); err != nil {
			return withheld, retry.Stubborn(err)
		}
		err = i.apply(ctx, t, t.patch(object, slots, bundle), outcome == replace || i.options.TakeOver)
		if raced(err) {
			continue
		}
		if err != nil {
			return failed, explain(t, err)
		}
		i.budget.wrote(t, bundle)
		if err := i.observe(ctx, t, bundle); err != nil {
			return failed, err
		}
		i.options.Log.Info("CA bundle written", "kind", t.kind.name, "name", t.name)
		return written, nil
	}
	return failed, fmt.Errorf("%s: changed %d times in a row between reading and writing", t, maxRaces)
}

// latest is the bundle by its origin, learned after the target was read.
func (i *Injector) latest(ctx context.Context, t target, bundle []byte) ([]byte, error) {
	latest, err := i.options.Latest(ctx)
	if err == nil && latest == nil {
		return bundle, nil
	}
	if err == nil {
		err = usable(latest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: its CA bundle is not the webhook's, and which that is now could not be learned: %w", t, err)
	}
	return latest, nil
}

// observe reads the target again: another writer, or a mutating webhook, may have had the last
// word.
func (i *Injector) observe(ctx context.Context, t target, bundle []byte) error {
	object, slots, err := i.read(ctx, t)
	if err != nil {
		return err
	}
	if outcome, _ := judge(t.kind, object, slots, bundle); outcome != leave {
		return fmt.Errorf("%s: the API server took the CA bundle, but another one stands there now, put there by %s: have it leave caBundle out", t, writer(t.kind, object, slots))
	}
	return nil
}

// read gets the target and the places for a bundle in it.
func (i *Injector) read(ctx context.Context, t target) (*unstructured.Unstructured, []slot, error) {
	object, err := i.get(ctx, t)
	if err != nil {
		return nil, nil, explain(t, err)
	}
	slots, err := t.kind.slots(object)
	if err != nil {
		return nil, nil, retry.Stubborn(fmt.Errorf("%s: %w", t, err))
	}
	return object, slots, nil
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
