// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// templateAnnotation is on a policy with a digest of the template that was last written to it: a policy that differs from the
// same template was changed by someone else.
const templateAnnotation = "autoreboot.fairlead.dev/cluster-policy-template"

// maxWrites is how many policies one reconcile writes: the status shows how far it has come, and others get their turn.
const maxWrites = 100

// outcome is the result of a pass over the policies of one object.
type outcome struct {
	wanted, inStep int
	// deleting are those of wanted namespaces that are being deleted, by namespace: they are made again once they are gone.
	deleting []*autorebootv1.RebootPolicy
	refusals []autorebootv1.NamespaceRefusal // by namespace
	// more means that policies are left to write, and retryAt is when what failed is tried again; zero for never.
	more    bool
	retryAt time.Time
}

// newPolicy returns the policy that an object makes in a namespace.
func newPolicy(of *autorebootv1.ClusterRebootPolicy, namespace string) *autorebootv1.RebootPolicy {
	policy := rules.FromTemplate(of)
	policy.Namespace = namespace
	policy.Labels = map[string]string{common.ManagedByLabel: common.ManagedBy, autorebootv1.ClusterPolicyLabel: of.Name}
	policy.Annotations = map[string]string{templateAnnotation: digestOf(&of.Spec.Template)}
	policy.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, autorebootv1.GroupVersion.WithKind("ClusterRebootPolicy"))}
	policy.OwnerReferences[0].BlockOwnerDeletion = nil // takes a right to the finalizers of the owner
	return policy
}

func digestOf(template *autorebootv1.RebootPolicyTemplate) string {
	text, err := json.Marshal(template)
	if err != nil {
		return "" // equal to no other
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// write has the policies be those of the template: in the wanted namespaces and in no others. What is refused in one
// namespace stops nothing in another.
func (r *Reconciler) write(ctx context.Context, of *autorebootv1.ClusterRebootPolicy, wanted map[string]bool) (outcome, error) {
	made, err := r.made(ctx, of)
	if err != nil {
		return outcome{}, err
	}
	known := r.refusedOf(of)
	refused, now := known.byNamespace, r.Now()
	o, writes := outcome{wanted: len(wanted)}, 0
	namespaces := maps.Clone(wanted)
	for namespace := range made {
		namespaces[namespace] = true
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		stored := made[namespace]
		step := r.step(of, known, namespace, stored, wanted[namespace])
		before, wasRefused := refused[namespace]
		last := known.reversals[namespace]
		switch {
		case last.isHeld(now) && wanted[namespace] && (step == nil && last.repeated || isChangedByHand(of, stored)):
			o.refuse(last.refusal)
		case step == nil:
			delete(refused, namespace)
			o.leave(stored, wanted[namespace])
		case wasRefused && r.Now().Before(before.until):
			o.refuse(before)
		case writes == maxWrites:
			o.more = true
		default:
			writes++
			if err := step(ctx); ctx.Err() != nil {
				return o, ctx.Err()
			} else if !r.conclude(&o, refused, namespace, err) {
				continue
			}
			if last := known.reversals[namespace]; last.isHeld(now) && last.repeated {
				o.refuse(last.refusal) // it is about to be changed again
			} else {
				o.count(wanted[namespace])
			}
		}
	}
	maps.DeleteFunc(refused, func(namespace string, _ refusal) bool { return !namespaces[namespace] })
	maps.DeleteFunc(known.reversals, func(namespace string, v *reversal) bool {
		return !namespaces[namespace] || now.After(v.until.Add(lastRevertWait))
	})
	return o, nil
}

// conclude takes the error of a write, and reports whether it was done.
func (r *Reconciler) conclude(o *outcome, refused map[string]refusal, namespace string, err error) bool {
	wait := min(max(2*refused[namespace].wait, retryRefused), lastRetryRefused)
	delete(refused, namespace)
	switch {
	case err == nil:
		return true
	case apierrors.IsConflict(err), errors.Is(err, errBehind):
		o.more = true
	default:
		refused[namespace] = refusal{refusalOf(namespace, err), r.Now().Add(wait), wait}
		o.refuse(refused[namespace])
	}
	return false
}

// leave counts a policy of a namespace that needs no write, or none until it is gone.
func (o *outcome) leave(stored *autorebootv1.RebootPolicy, wanted bool) {
	if wanted && !stored.DeletionTimestamp.IsZero() {
		o.deleting = append(o.deleting, stored)
	} else {
		o.count(wanted)
	}
}

// count counts a policy that is as the template says.
func (o *outcome) count(inStep bool) {
	if inStep {
		o.inStep++
	}
}

// refusal is one that is not tried again for a while, whatever has the object reconciled in between.
type refusal struct {
	autorebootv1.NamespaceRefusal
	until time.Time
	wait  time.Duration // that ends then
}

// refusals are those of one object by namespace, as long as its spec stays.
type refusals struct {
	uid         types.UID
	generation  int64
	byNamespace map[string]refusal
	// reversals are of policies that another writer has changed.
	reversals map[string]*reversal
}

// refusedOf returns what was refused of an object at its generation.
func (r *Reconciler) refusedOf(of *autorebootv1.ClusterRebootPolicy) *refusals {
	known := r.refused[of.Name]
	if known == nil || known.uid != of.UID || known.generation != of.Generation {
		known = &refusals{of.UID, of.Generation, map[string]refusal{}, map[string]*reversal{}}
		r.refused[of.Name] = known
	}
	return known
}

// refuse adds a refusal, and the time of the next try.
func (o *outcome) refuse(one refusal) {
	o.refusals = append(o.refusals, one.NamespaceRefusal)
	o.retryAt = controller.Earliest(o.retryAt, one.until)
}

// step returns what is to be done in a namespace; nil for nothing.
func (r *Reconciler) step(
	of *autorebootv1.ClusterRebootPolicy, known *refusals, namespace string, stored *autorebootv1.RebootPolicy, wanted bool,
) func(context.Context) error {
	policy := newPolicy(of, namespace)
	switch {
	case !wanted && !stored.DeletionTimestamp.IsZero():
		return nil
	case !wanted:
		return func(ctx context.Context) error {
			return client.IgnoreNotFound(r.Client.Delete(ctx, newPolicy(of, namespace), client.Preconditions{UID: &stored.UID}))
		}
	case stored == nil:
		return func(ctx context.Context) error { return r.create(ctx, of, policy) }
	case !stored.DeletionTimestamp.IsZero(), isInStep(stored, policy) && metav1.IsControlledBy(stored, of):
		return nil
	}
	return func(ctx context.Context) error {
		changed := stored.DeepCopy()
		changed.Spec = *policy.Spec.DeepCopy()
		maps.Copy(changed.Labels, policy.Labels)
		if !metav1.IsControlledBy(stored, of) {
			isController := func(o metav1.OwnerReference) bool { return ptr.Deref(o.Controller, false) }
			changed.OwnerReferences = append(slices.DeleteFunc(changed.OwnerReferences, isController), policy.OwnerReferences...)
		}
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, templateAnnotation, policy.Annotations[templateAnnotation])
		if isChangedByHand(of, stored) || !metav1.IsControlledBy(stored, of) {
			// Its writer had the rights for another spec. Requests need no such care: the decider has handled those before.
			delete(changed.Annotations, autorebootv1.OnInjectedFaultAnnotation)
		}
		update := func() error {
			if err := r.Client.Update(ctx, changed, client.FieldOwner(common.FieldOwner)); err != nil {
				return err
			}
			if !isInStep(changed, policy) {
				return errChanged
			}
			return nil
		}
		if isChangedByHand(of, stored) {
			return r.revert(ctx, of, known, changed, update)
		}
		return update()
	}
}

// isChangedByHand reports whether a policy differs from the template that was last written to it.
func isChangedByHand(of *autorebootv1.ClusterRebootPolicy, stored *autorebootv1.RebootPolicy) bool {
	if stored == nil || !stored.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(stored, of) {
		return false
	}
	policy := newPolicy(of, stored.Namespace)
	return stored.Annotations[templateAnnotation] == policy.Annotations[templateAnnotation] && !isInStep(stored, policy)
}

// isRestored reports whether a policy was made by an object of the same name that does not exist any more: both come from a
// backup, or the earlier object was deleted without its policies. A user's policy has no digest of a template.
func isRestored(stored *autorebootv1.RebootPolicy, of *autorebootv1.ClusterRebootPolicy) bool {
	if stored.Annotations[templateAnnotation] == "" || metav1.IsControlledBy(stored, of) {
		return false
	}
	return metav1.GetControllerOfNoCopy(stored) == nil || rules.ClusterPolicyOf(stored) == of.Name
}

// isInStep reports whether a stored policy is what the template says, with defaults or without.
func isInStep(stored, policy *autorebootv1.RebootPolicy) bool {
	is, wanted := &autorebootv1.RebootPolicy{Spec: *stored.Spec.DeepCopy()}, &autorebootv1.RebootPolicy{Spec: *policy.Spec.DeepCopy()}
	rules.Default(is)
	rules.Default(wanted)
	return equality.Semantic.DeepEqual(is.Spec, wanted.Spec) &&
		stored.Annotations[templateAnnotation] == policy.Annotations[templateAnnotation]
}

// errChanged means that the stored policy differs from the one that was sent.
var errChanged = errors.New("an admission webhook of the cluster changes the spec: have it leave RebootPolicies alone, " +
	"or write in the template what it sets")

// errBehind means that the cache is behind: the policy was made or deleted a moment ago.
var errBehind = errors.New("the cache is behind")

// errNameTaken is another policy of the same name.
type errNameTaken struct{ name string }

func (e errNameTaken) Error() string {
	return fmt.Sprintf("the namespace has another RebootPolicy %s, which is left as it is: rename one of the two", e.name)
}

// create makes a policy. One that the cache does not show yet may be the object's own.
func (r *Reconciler) create(ctx context.Context, of *autorebootv1.ClusterRebootPolicy, policy *autorebootv1.RebootPolicy) error {
	wanted := policy.DeepCopy()
	err := r.Client.Create(ctx, policy, client.FieldOwner(common.FieldOwner))
	if err == nil && !isInStep(policy, wanted) {
		return errChanged
	}
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var found autorebootv1.RebootPolicy
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(policy), &found); {
	case apierrors.IsNotFound(err):
		return errBehind
	case err != nil:
		return err
	case !metav1.IsControlledBy(&found, of):
		return errNameTaken{policy.Name}
	case found.Labels[autorebootv1.ClusterPolicyLabel] == of.Name:
		return errBehind
	}
	// Its label was taken off, by which it is found.
	metav1.SetMetaDataLabel(&found.ObjectMeta, autorebootv1.ClusterPolicyLabel, of.Name)
	return r.Client.Update(ctx, &found, client.FieldOwner(common.FieldOwner))
}
