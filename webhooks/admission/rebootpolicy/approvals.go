// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// approvals returns the rights that a writer needs to approve restarts, or to remove the gate that holds them. They are
// independent of the rights to write the policy: a user may have either without the other.
func approvals(req admission.Request, obj, old *autorebootv1.RebootPolicy) []authorization.Need {
	n := &collector{authorization.Needs{Namespace: req.Namespace}}
	var before string
	if old != nil {
		before = old.Annotations[autorebootv1.ApproveAnnotation]
	}
	if given := obj.Annotations[autorebootv1.ApproveAnnotation]; given != "" && given != before {
		n.approve(field.NewPath("metadata", "annotations").Key(autorebootv1.ApproveAnnotation), "leave the annotation as it is", obj.Name)
	}
	if old != nil {
		n.List = append(n.List, ungated(field.NewPath("spec", "gates"), &obj.Spec, &old.Spec, req.Namespace, obj.Name)...)
	}
	return n.List
}

// ungated returns the right to remove the gate of type Approval, if the update does so. To rename the gate needs no
// right.
func ungated(path *field.Path, spec, old *autorebootv1.RebootPolicySpec, namespace, name string) []authorization.Need {
	n := &collector{authorization.Needs{Namespace: namespace}}
	if waitsForApproval(old) && !waitsForApproval(spec) {
		n.approve(path, "keep the gate of type Approval", name)
	}
	return n.List
}

func (n *collector) approve(path *field.Path, remedy, name string) {
	n.Add(path, remedy, autorebootv1.VerbApprove, autorebootv1.GroupVersion.Group, "rebootpolicies", "", name)
}

func waitsForApproval(spec *autorebootv1.RebootPolicySpec) bool {
	return slices.ContainsFunc(spec.Gates, func(g autorebootv1.Gate) bool { return g.Type == autorebootv1.GateApproval })
}
