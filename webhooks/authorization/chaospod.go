// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// ChaosPod authorizes writers of ChaosPods. Its methods are a Stamp and a Validate of package admission.
type ChaosPod struct {
	entitlement entitlement[chaosv1.ChaosPod, *chaosv1.ChaosPod]
}

// NewChaosPod makes the authorization.
func NewChaosPod(reviewer Reviewer) *ChaosPod {
	return &ChaosPod{entitlement[chaosv1.ChaosPod, *chaosv1.ChaosPod]{
		reviewer: reviewer,
		kind:     "ChaosPod",
		needs:    func(obj *chaosv1.ChaosPod, namespace string) []need { return killing(&obj.Spec, namespace) },
		digest:   func(obj *chaosv1.ChaosPod) string { return approval.ChaosPodDigest(&obj.Spec) },
		wakes: func(obj, old *chaosv1.ChaosPod) bool {
			return unset(old.Spec.Suspend, obj.Spec.Suspend) || kills(obj) && !kills(old) ||
				asks(obj, old, chaosv1.RunNowAnnotation, chaosv1.ResumeAnnotation)
		},
	}}
}

// Stamp decides the annotation that says who was entitled to what obj does.
func (a *ChaosPod) Stamp(ctx context.Context, req admission.Request, obj, old *chaosv1.ChaosPod) (map[string]string, error) {
	return a.entitlement.stamp(ctx, req, obj, old)
}

// Validate refuses what the writer is not entitled to.
func (a *ChaosPod) Validate(ctx context.Context, req admission.Request, obj, old *chaosv1.ChaosPod) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return a.entitlement.rights(ctx, req, obj, old)
}

// kills says whether a ChaosPod is more than a dry run, which it is by default.
func kills(obj *chaosv1.ChaosPod) bool { return !ptr.Deref(obj.Spec.DryRun, true) }

// killing lists what a writer of spec must be entitled to: to do what the ChaosPod does, or to have a
// ServiceAccount do it, and to see the pods that its status names. A selector, and the pods of a
// workload, change: so the rights are those to all pods of the namespace.
func killing(spec *chaosv1.ChaosPodSpec, namespace string) []need {
	n := &needs{namespace: namespace}
	at := field.NewPath("spec")
	if account := spec.ServiceAccountName; account != "" {
		n.add(at.Child("serviceAccountName"), withoutAccount, "impersonate", "", "serviceaccounts", "", account)
		if spec.Target.Template == nil {
			n.add(at.Child("target"), anotherTarget, "list", "", "pods", "", "")
		}
		return n.list
	}
	action := at.Child("action", "type")
	if a := spec.Action; a != nil && ptr.Deref(a.Type, chaosv1.ActionEvict) == chaosv1.ActionDelete {
		n.add(action, byAccount, "delete", "", "pods", "", "")
	} else {
		n.add(action, byAccount, "create", "", "pods", "eviction", "")
	}
	if spec.Target.Template != nil {
		n.add(at.Child("target", "template"), byAccount, "create", "", "pods", "", "")
		return n.list
	}
	n.add(at.Child("target"), byAccount, "get", "", "pods", "", "")
	return n.list
}
