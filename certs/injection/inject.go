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

	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// maxRaces bounds how often a target that changed between reading and writing is read again at once.
const maxRaces = 5

// inject writes the bundle to the target and returns the result to count. Where the target lacks the bundle, that of the
// source is read again, since another replica may have changed it. changed says that the bundle has changed, or the process has
// started: that alone takes away what another replica has added, whose source may know more.
func (i *Injector) inject(ctx context.Context, t target, bundle []byte, changed bool) (string, error) {
	for range maxRaces {
		object, slots, err := i.readOwn(ctx, t)
		if other := (*foreignError)(nil); errors.As(err, &other) {
			return withheld, err
		} else if err != nil {
			return failed, err
		}
		outcome, annotation := decide(t.kind, object, slots, bundle)
		if outcome != leave {
			latest, err := i.latest(ctx, t)
			if err != nil {
				return failed, err
			}
			if latest != nil {
				bundle = latest
				outcome, annotation = decide(t.kind, object, slots, bundle)
			}
		}
		if outcome == replace && !changed && allInclude(slots, bundle) && isOwnBundle(t.kind, object, slots, bundle) {
			return unchanged, nil
		}
		force := i.recordTrust(t, object, slots, bundle) || outcome == replace
		switch outcome {
		case leave:
			i.budget.recordPresent(t, bundle)
			return unchanged, nil
		case foreign:
			return failed, retry.Bounded(fmt.Errorf("%s: its annotation %s hands caBundle to cert-manager, which has put in none, or another one than the webhook's: remove the annotation, or serve the certificate that cert-manager issues", t, annotation))
		}
		if result, err := i.write(ctx, t, object, slots, bundle, force); !isStale(err) {
			return result, err
		}
	}
	return failed, fmt.Errorf("%s: changed %d times in a row between reading and writing", t, maxRaces)
}

// recordTrust records whether clients of the target trust the bundle, and reports whether it was overwritten: then no
// client trusts the webhooks, and another field manager must not keep its own.
func (i *Injector) recordTrust(t target, object *unstructured.Unstructured, slots []slot, bundle []byte) (overwritten bool) {
	if allInclude(slots, bundle) {
		i.health.set(t, true)
		return false
	}
	i.reportLoss(t, object.GetUID(), bundle, "changed by "+writer(t.kind, object, slots, bundle))
	return i.budget.hadBundle(t)
}

// write applies the bundle, reads it again, and returns the result to count.
func (i *Injector) write(
	ctx context.Context, t target, object *unstructured.Unstructured, slots []slot, bundle []byte, force bool,
) (string, error) {
	if err := i.budget.allow(t, bundle, writer(t.kind, object, slots, bundle)); err != nil {
		return withheld, retry.Bounded(err)
	}
	if err := i.apply(ctx, t, t.patch(object, slots, bundle), force); err != nil {
		return failed, explain(t, err)
	}
	i.budget.recordWrite(t, bundle)
	if err := i.observe(ctx, t, bundle); err != nil {
		return failed, err
	}
	i.options.Log.Info("CA bundle written", "kind", t.kind.name, "name", t.name)
	return written, nil
}

// foreignError is a target that calls the webhooks of another installation. Only a change of the target resolves it.
type foreignError struct{ error }

func (e *foreignError) Unwrap() error { return e.error }

// checkService returns a *foreignError where a slot calls another Service: with our bundle, API servers would refuse
// the certificate that is served there.
func (i *Injector) checkService(t target, slots []slot) error {
	own := i.options.Service
	for _, one := range slots {
		if other := one.service; other.Name != "" && own.Name != "" && other != own {
			return &foreignError{retry.Bounded(fmt.Errorf("%s: calls Service %s and not %s, so it belongs to another installation, and its CA bundle is not written: remove one of the two installations, or apply the manifests of this one to take the object over", t, other, own))}
		}
	}
	return nil
}

// reportLoss records that the target lacks the bundle, and reports it once where it had it before. A nil
// bundle means any.
func (i *Injector) reportLoss(t target, uid types.UID, bundle []byte, how string) {
	i.health.set(t, false)
	if !i.budget.recordMissing(t, bundle) {
		return
	}
	i.options.Log.Info("CA bundle lost", "kind", t.kind.name, "name", t.name, "how", how)
	i.options.OnLoss(Loss{
		APIVersion: t.kind.resource.GroupVersion().String(), Kind: t.kind.name, Name: t.name, UID: uid,
		Message: fmt.Sprintf("The CA bundle of Fairlead's webhooks is no longer in this object (%s). API servers refuse what needs the webhooks until it is back; the operator puts it back where it can.", how),
	})
}

// latest returns the current bundle of the source, read after the target; nil where there is none, or it is not told.
func (i *Injector) latest(ctx context.Context, t target) ([]byte, error) {
	if i.options.Latest == nil {
		return nil, nil
	}
	latest, err := i.options.Latest(ctx)
	if err == nil && latest != nil {
		err = validateBundle(latest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: its CA bundle is not the webhook's, and the webhook's present one could not be read: %w", t, err)
	}
	return latest, nil
}

// observe reads the target again: another writer or a mutating webhook may have changed it.
func (i *Injector) observe(ctx context.Context, t target, bundle []byte) error {
	object, slots, err := i.read(ctx, t)
	if err != nil {
		return err
	}
	if outcome, _ := decide(t.kind, object, slots, bundle); outcome != leave {
		return fmt.Errorf("%s: the CA bundle was written, and then replaced by %s: remove caBundle from what it applies", t, writer(t.kind, object, slots, bundle))
	}
	return nil
}

// readOwn returns the target and its slots, and reports the loss of the bundle where the target cannot have it any more.
func (i *Injector) readOwn(ctx context.Context, t target) (*unstructured.Unstructured, []slot, error) {
	object, slots, err := i.read(ctx, t)
	switch {
	case isAbsent(t, err):
		i.reportLoss(t, "", nil, "it was deleted")
	case err != nil && object != nil:
		i.reportLoss(t, object.GetUID(), nil, "it has no place for one: "+err.Error())
	case err == nil:
		if err = i.checkService(t, slots); err != nil {
			i.reportLoss(t, object.GetUID(), nil, "it calls another Service now")
		}
	}
	return object, slots, err
}

// read returns the target and its slots. Where it has none it returns the target with the error.
func (i *Injector) read(ctx context.Context, t target) (*unstructured.Unstructured, []slot, error) {
	object, err := i.get(ctx, t)
	if err != nil {
		return nil, nil, explain(t, err)
	}
	slots, err := t.kind.slots(object)
	if err != nil {
		return object, nil, retry.Bounded(fmt.Errorf("%s: %w", t, err))
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

// isAbsent reports whether the API server says that the target itself does not exist.
func isAbsent(t target, err error) bool {
	return apistatus.IsAbsent(err, t.kind.resource.GroupResource(), t.name)
}

// isStale reports whether the target changed between reading and writing. A conflict of field managers has
// the same status, and is not stale.
func isStale(err error) bool { return apierrors.IsConflict(err) && !isOwnershipConflict(err) }

// isOwnershipConflict reports whether the write was refused because another field manager owns the bundle.
func isOwnershipConflict(err error) bool {
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
	case isAbsent(t, err):
		return retry.Bounded(fmt.Errorf("%s: does not exist: install the CRDs and the webhook configurations first (make install): %w", t, err))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return retry.Bounded(fmt.Errorf("%s: the operator may not use it: allow its service account to get and patch it by name, and to watch it (the roles of config/rbac do): %w", t, err))
	case isOwnershipConflict(err):
		return retry.Bounded(fmt.Errorf("%s: another field manager owns a different caBundle: leave caBundle out of what it applies and remove it from the object, or let the operator take it over: %w", t, err))
	case apierrors.IsInvalid(err):
		return retry.Bounded(fmt.Errorf("%s: cannot take the CA bundle: install it again (make install): %w", t, err))
	}
	return fmt.Errorf("%s: %w", t, err)
}
