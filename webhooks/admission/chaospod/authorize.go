// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// authorizer decides whether the writer of a ChaosPod has the rights to what the ChaosPod does.
type authorizer struct {
	authorization.Entitlement[chaosv1.ChaosPod, *chaosv1.ChaosPod]
	policy authorization.Policy
}

func newAuthorizer(reviewer authorization.Reviewer, policy authorization.Policy) *authorizer {
	return &authorizer{policy: policy, Entitlement: authorization.Entitlement[chaosv1.ChaosPod, *chaosv1.ChaosPod]{
		Reviewer: reviewer,
		Noun:     "ChaosPod",
		Needs:    func(obj *chaosv1.ChaosPod, namespace string) []authorization.Need { return needs(&obj.Spec, namespace) },
		Digest:   func(obj *chaosv1.ChaosPod) string { return approval.ChaosPodDigest(&obj.Spec) },
		Starts:   starts,
		Commands: []string{chaosv1.RunNowAnnotation, chaosv1.RetryAnnotation},
	}}
}

// Validate refuses what the writer has no right to, and hosts that no writer may have probed. Hosts that an update does
// not change stay.
func (a *authorizer) Validate(ctx context.Context, req admission.Request, obj, old *chaosv1.ChaosPod) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := a.Entitlement.Validate(ctx, req, obj, old)
	var hosts, stored authorization.Hosts
	hosts.AddVerification(field.NewPath("spec"), obj.Spec.Verification)
	if old != nil && !starts(obj, old) {
		stored.AddVerification(field.NewPath("spec"), old.Spec.Verification)
	}
	return warnings, append(errs, hosts.Check(a.policy, req, stored)...)
}

// starts reports whether obj is no longer suspended or no longer a dry run.
func starts(obj, old *chaosv1.ChaosPod) bool {
	return isSuspended(old) && !isSuspended(obj) || isDryRun(old) && !isDryRun(obj)
}

func isSuspended(obj *chaosv1.ChaosPod) bool { return ptr.Deref(obj.Spec.Suspend, false) }

// isDryRun returns spec.dryRun, which is true by default.
func isDryRun(obj *chaosv1.ChaosPod) bool { return ptr.Deref(obj.Spec.DryRun, true) }

// needs lists the rights that a writer of spec needs: to do what the ChaosPod does, and to see the pods that its status
// names. With a ServiceAccount, the right to use it replaces the first. The pods of a selector or a workload change, so
// the rights are for all pods of the namespace.
func needs(spec *chaosv1.ChaosPodSpec, namespace string) []authorization.Need {
	n := &authorization.Needs{Namespace: namespace}
	at := field.NewPath("spec")
	n.AddVerification(at, spec.Verification)
	if account := spec.ServiceAccountName; account != "" {
		n.Add(at.Child("serviceAccountName"), authorization.NameAnotherServiceAccount, "impersonate", "", "serviceaccounts", "", account)
		if spec.Target.Template == nil {
			n.Add(at.Child("target"), authorization.NameAnotherTarget, "list", "", "pods", "", "")
		}
		return n.List
	}
	action := at.Child("action", "type")
	if a := spec.Action; a != nil && ptr.Deref(a.Type, chaosv1.ActionEvict) == chaosv1.ActionDelete {
		n.Add(action, authorization.NameServiceAccount(at), "delete", "", "pods", "", "")
	} else {
		n.Add(action, authorization.NameServiceAccount(at), "create", "", "pods", "eviction", "")
	}
	if spec.Target.Template != nil {
		n.Add(at.Child("target", "template"), authorization.NameServiceAccount(at), "create", "", "pods", "", "")
		return n.List
	}
	n.Add(at.Child("target"), authorization.NameServiceAccount(at), "get", "", "pods", "", "")
	return n.List
}
