// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

const (
	// firstRevertWait is how long a policy that was reverted may differ again before it is reverted again. It doubles each
	// time, up to lastRevertWait: a controller that keeps changing a policy would otherwise have it written without end.
	firstRevertWait = time.Second
	lastRevertWait  = time.Minute
)

// reversal is the last one of a policy that another writer had changed.
type reversal struct {
	// refusal is in the status while it is held and repeated. Until is when the next reversal may be.
	refusal
	wait     time.Duration
	repeated bool
}

// isHeld reports whether the next reversal has to wait.
func (v *reversal) isHeld(now time.Time) bool { return v != nil && now.Before(v.until) }

// revert has a policy that another writer has changed be as the template says again, and notes who that was.
func (r *Reconciler) revert(ctx context.Context, of *autorebootv1.ClusterRebootPolicy, known *refusals, changed *autorebootv1.RebootPolicy,
	update func() error,
) error {
	manager, err := r.managerOf(ctx, changed)
	if err != nil {
		return err
	}
	if err := update(); err != nil {
		return err
	}
	now, next := r.Now(), &reversal{wait: firstRevertWait}
	if last := known.reversals[changed.Namespace]; last != nil && now.Before(last.until.Add(lastRevertWait)) {
		next.wait, next.repeated = min(2*last.wait, lastRevertWait), true
	}
	next.refusal = refusal{NamespaceRefusal: autorebootv1.NamespaceRefusal{
		Namespace: changed.Namespace, Reason: autorebootv1.ClusterReasonChangedRepeatedly,
		Message: fmt.Sprintf("%s keeps changing the policy, and each change is reverted, at most once a minute: stop it, or create a RebootPolicy for the workload, which takes precedence", manager),
	}, until: now.Add(next.wait)}
	known.reversals[changed.Namespace] = next
	r.Events.Eventf(changed, of, controller.EventType(true), autorebootv1.EventReverted, "Update",
		"%s changed the policy, and ClusterRebootPolicy %s reverted the change: change that object instead, or create a RebootPolicy for the workload, which takes precedence", manager, of.Name)
	return nil
}

// managerOf returns who last wrote the spec of a policy, beside the operator. The cache does not have it.
func (r *Reconciler) managerOf(ctx context.Context, policy *autorebootv1.RebootPolicy) (string, error) {
	var live autorebootv1.RebootPolicy
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(policy), &live); err != nil {
		return "", err
	}
	var last *metav1.ManagedFieldsEntry
	for i := range live.ManagedFields {
		entry := &live.ManagedFields[i]
		if entry.Manager == common.FieldOwner || entry.Subresource != "" || entry.FieldsV1 == nil ||
			!strings.Contains(entry.FieldsV1.GetRawString(), `"f:spec"`) {
			continue
		}
		if last == nil || last.Time.Before(entry.Time) {
			last = entry
		}
	}
	if last == nil {
		return "another writer", nil
	}
	return fmt.Sprintf("field manager %.60q", last.Manager), nil
}
