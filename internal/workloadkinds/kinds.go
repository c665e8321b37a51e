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
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
)

// Kind is a kind of workloads, or MountedSecrets.
type Kind struct {
	schema.GroupVersionKind
	// Template is the path of the pod template, such as spec, template; nil for a kind that is read as a Go type.
	Template []string
	// Short is the name that kubectl takes for it, such as deploy; empty for none.
	Short string
	typed
}

// MountedSecrets is the kind of the statuses that the Secrets Store CSI driver writes about mounts. It is optional like a
// workload kind, but no workload.
var MountedSecrets = Kind{
	GroupVersionKind: secretsstore.GroupVersion.WithKind(secretsstore.Kind),
	typed: typed{object: func() (client.Object, client.ObjectList) {
		return &secretsstore.SecretProviderClassPodStatus{}, &secretsstore.SecretProviderClassPodStatusList{}
	}},
}

// RunsToEnd reports whether the kind is that of CronJobs or Jobs: what a restart of one begins runs to an end.
func (k Kind) RunsToEnd() bool { return k.Group == common.BatchGroup }

// isMounted reports whether the kind is MountedSecrets.
func (k Kind) isMounted() bool { return k.GroupVersionKind == MountedSecrets.GroupVersionKind }

// resource returns the resource of the kind.
func (k Kind) resource() string {
	if k.isMounted() {
		return secretsstore.Resource
	}
	return k.Name().Resource()
}

// Name returns the kind as the status of a policy has it.
func (k Kind) Name() common.WorkloadKind {
	return common.KindOfGroup(k.Group, common.WorkloadKind(k.Kind))
}

// New returns an empty object and list of the kind.
func (k Kind) New() (client.Object, client.ObjectList) {
	if k.object != nil {
		return k.object()
	}
	object, list := &unstructured.Unstructured{}, &unstructured.UnstructuredList{}
	object.SetGroupVersionKind(k.GroupVersionKind)
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	return object, list
}

// NotServed is why there are no objects of the kind, in a cluster without it.
func (k Kind) NotServed() string {
	install := "its CRD"
	switch {
	case k.isMounted():
		install = "the Secrets Store CSI driver"
	case k.Template == nil:
		install = "Argo Rollouts"
	}
	return fmt.Sprintf("the API server does not serve %s (%s): install %s, or %s", k.plural(), k.GroupVersion(), install, k.without())
}

// forbidden is why objects of the kind are not read, where the operator may not.
func (k Kind) forbidden() string {
	verbs := "get, list, watch and patch"
	switch {
	case k.isMounted():
		verbs = "list and watch"
	case k.RunsToEnd():
		verbs = "get, list and watch"
	}
	return fmt.Sprintf("the operator may not list %s: grant its role %s of %s.%s, or %s", k.plural(), verbs, k.resource(), k.Group, k.without())
}

// plural is the kind in messages about several objects.
func (k Kind) plural() string {
	if k.isMounted() {
		return "SecretProviderClassPodStatuses"
	}
	return k.Kind + "s"
}

// without returns the remedy that avoids the kind.
func (k Kind) without() string {
	if k.isMounted() {
		return "exclude the SecretProviderClass"
	}
	return "remove the targets with group " + k.Group
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
