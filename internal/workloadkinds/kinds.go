// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadkinds

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// Kind is a kind of workloads that a cluster need not have.
type Kind struct {
	schema.GroupVersionKind
	// Template is the path of the pod template, such as spec, template; nil for Rollouts, which are read as a type of their own.
	Template []string
}

// Rollouts are those of Argo Rollouts.
var Rollouts = Kind{GroupVersionKind: argorollouts.GroupVersion.WithKind(argorollouts.Kind)}

// Name returns the kind as the status of a policy has it.
func (k Kind) Name() common.WorkloadKind {
	return common.KindOfGroup(k.Group, common.WorkloadKind(k.Kind))
}

// New returns an empty object and list of the kind.
func (k Kind) New() (client.Object, client.ObjectList) {
	if k.Template == nil {
		return &argorollouts.Rollout{}, &argorollouts.RolloutList{}
	}
	object, list := &unstructured.Unstructured{}, &unstructured.UnstructuredList{}
	object.SetGroupVersionKind(k.GroupVersionKind)
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	return object, list
}

// NotServed is why there are no workloads of the kind, in a cluster without it.
func (k Kind) NotServed() string {
	install := "its CRD"
	if k.Template == nil {
		install = "Argo Rollouts"
	}
	return fmt.Sprintf("the API server does not serve %ss (%s): install %s, or remove the targets with group %s", k.Kind, k.GroupVersion(), install, k.Group)
}

// Find returns the kind of a name among those of a configuration; nil for none.
func Find(all []Kind, name common.WorkloadKind) *Kind {
	if at := slices.IndexFunc(all, func(k Kind) bool { return k.Name() == name }); at >= 0 {
		return &all[at]
	}
	return nil
}

// IsOptional reports whether a cluster need not have a kind.
func IsOptional(kind common.WorkloadKind) bool { return kind.Group() != common.AppsGroup }

// NotConfigured is why no policy restarts workloads of a kind, as a sentence.
func NotConfigured(kind common.WorkloadKind) string {
	return fmt.Sprintf("the operator's configuration does not have kind %s of group %s in rebootPolicies.workloads: ask an administrator to add it, or name another target",
		kind.Name(), kind.Group())
}
