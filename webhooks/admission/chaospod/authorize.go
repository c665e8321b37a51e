// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// authorizer decides whether the writer of a ChaosPod may do what it does.
type authorizer = authorization.Entitlement[chaosv1.ChaosPod, *chaosv1.ChaosPod]

func newAuthorizer(reviewer authorization.Reviewer) *authorizer {
	return &authorizer{
		Reviewer: reviewer,
		Noun:     "ChaosPod",
		Needs:    func(obj *chaosv1.ChaosPod, namespace string) []authorization.Need { return needs(&obj.Spec, namespace) },
		Digest:   func(obj *chaosv1.ChaosPod) string { return approval.ChaosPodDigest(&obj.Spec) },
		Starts: func(obj, old *chaosv1.ChaosPod) bool {
			return isSuspended(old) && !isSuspended(obj) || isDryRun(old) && !isDryRun(obj)
		},
		Commands: []string{chaosv1.RunNowAnnotation, chaosv1.ResumeAnnotation},
	}
}

func isSuspended(obj *chaosv1.ChaosPod) bool { return ptr.Deref(obj.Spec.Suspend, false) }

// isDryRun is true by default.
func isDryRun(obj *chaosv1.ChaosPod) bool { return ptr.Deref(obj.Spec.DryRun, true) }

// needs lists the rights that a writer of spec needs: to do what the ChaosPod does, or to have a
// ServiceAccount do it, and to see the pods that its status names. The pods of a selector and of a workload
// change, so the rights are those to all pods of the namespace.
func needs(spec *chaosv1.ChaosPodSpec, namespace string) []authorization.Need {
	n := &authorization.Needs{Namespace: namespace}
	at := field.NewPath("spec")
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
