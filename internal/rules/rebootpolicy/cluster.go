// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// TemplatePath is the path of the policies' spec in a ClusterRebootPolicy.
const TemplatePath = "spec.template.spec"

// FromTemplate returns the policy that a ClusterRebootPolicy creates, without a namespace.
func FromTemplate(obj *autorebootv1.ClusterRebootPolicy) *autorebootv1.RebootPolicy {
	return &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: obj.Name}, Spec: obj.Spec.Template.Spec}
}

// ValidateCluster is Validate for a ClusterRebootPolicy. The rules of a policy apply to its template.
func ValidateCluster(obj, old *autorebootv1.ClusterRebootPolicy) field.ErrorList {
	return rules.Ratchet(obj, old, clusterViolations)
}

func clusterViolations(obj *autorebootv1.ClusterRebootPolicy) field.ErrorList {
	at := specPath.Child("namespaceSelector")
	errs := rules.Selector(at, obj.Spec.NamespaceSelector)
	if obj.Spec.NamespaceSelector == nil { // see rules.Some
		errs = append(errs, field.Required(at.Field(), "an empty one, {}, selects all namespaces"))
	}
	for _, err := range violations(FromTemplate(obj)) {
		err.Field = inTemplate(err.Field)
		errs = append(errs, err)
	}
	return errs
}

// ClusterWarnings is Warnings for a ClusterRebootPolicy.
func ClusterWarnings(obj, old *autorebootv1.ClusterRebootPolicy) []string {
	return rules.NewWarnings(obj, old, func(obj *autorebootv1.ClusterRebootPolicy) []string {
		var texts []string
		for _, text := range warnings(FromTemplate(obj)) {
			texts = append(texts, inTemplate(text))
		}
		return texts
	})
}

// inTemplate converts a path of a policy, or a text that begins with one, to the path in a ClusterRebootPolicy.
func inTemplate(path string) string {
	if rest, ok := strings.CutPrefix(path, "spec"); ok {
		return TemplatePath + rest
	}
	return path
}

// Workload has what determines whether a policy takes a workload.
type Workload struct {
	Kind                                     common.WorkloadKind
	Namespace, Name                          string
	Labels, Annotations, TemplateAnnotations map[string]string
}

// Takes reports whether a target of a spec takes a workload of the policy's namespace. An invalid selector takes none.
func Takes(spec *autorebootv1.RebootPolicySpec, w *Workload) bool {
	var onChange *OnChange
	for i := range spec.Targets {
		t := &spec.Targets[i]
		switch {
		case !slices.Contains(KindsOf(t), w.Kind):
			continue
		case t.Selector == nil && t.Name == w.Name:
			return true
		case t.Selector == nil:
			continue
		}
		if selector, err := t.Selector.Selector(); err != nil || !selector.Matches(labels.Set(w.Labels)) {
			continue
		}
		if onChange == nil {
			read := OnChangeOf(spec.Compatibility, w)
			onChange = &read
		}
		if onChange.Selects(t) {
			return true
		}
	}
	return false
}

// ClusterPolicyOf returns the name of the ClusterRebootPolicy that created a policy; "" if none did.
func ClusterPolicyOf(policy *autorebootv1.RebootPolicy) string {
	owner := metav1.GetControllerOf(policy)
	if owner == nil || owner.Kind != "ClusterRebootPolicy" || !strings.HasPrefix(owner.APIVersion, autorebootv1.GroupVersion.Group+"/") {
		return ""
	}
	return owner.Name
}

// YieldsTo reports whether a policy leaves workloads to another policy of its namespace. A policy that a user created
// yields to none. One that a ClusterRebootPolicy created yields to those of users, and to earlier names among those of
// ClusterRebootPolicies.
func YieldsTo(policy, other *autorebootv1.RebootPolicy) bool {
	return policy.Name != other.Name && ClusterPolicyOf(policy) != "" && other.DeletionTimestamp.IsZero() &&
		(ClusterPolicyOf(other) == "" || other.Name < policy.Name)
}
