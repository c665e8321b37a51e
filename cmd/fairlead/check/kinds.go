// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// checkKinds separates the CRDs of the operator's kinds from the others. No object of another kind may be left in the
// installation's namespaces. It reports nothing if a CRD of another kind is absent or cannot be read.
func (r *run) checkKinds(ctx context.Context) {
	configuration := options.Default() // where there is no Deployment
	for i, d := range r.deployments {
		if i == 0 {
			configuration = d.configuration
		} else if d.configuration.KindsText() != configuration.KindsText() {
			r.add(CheckDeployment, d.object(), Failed,
				"it is for "+d.configuration.KindsText()+", and "+r.deployments[0].object()+" for "+configuration.KindsText(),
				"give all Deployments of the installation the same kinds and chaosPods.canaries")
		}
	}
	for _, d := range r.unread {
		if configuration.HasKind(d.kind) {
			r.results = append(r.results, d.Result)
		}
	}
	r.others = slices.Clone(r.definitions)
	r.definitions = slices.DeleteFunc(r.definitions, func(d definition) bool { return !configuration.HasKind(d.Kind.Kind) })
	r.others = slices.DeleteFunc(r.others, func(d definition) bool { return configuration.HasKind(d.Kind.Kind) })
	for _, d := range r.others {
		r.results = append(r.results, r.checkLeftOut(ctx, d, configuration))
	}
}

// checkLeftOut looks for objects that nothing reconciles.
func (r *run) checkLeftOut(ctx context.Context, d definition, c *options.Configuration) Result {
	leaves := "the operator's configuration leaves " + d.Kind.Kind + " out, and "
	result := Result{CheckDefinition, d.object(), Skipped, leaves + "another installation converts it", ""}
	if service := d.service(); service != nil && (service.Namespace != r.namespace || service.Name != c.Service.Name) {
		return result
	}
	if d.crd.Spec.Scope == apiextensionsv1.ClusterScoped && !c.ClusterAccess {
		result.Message = leaves + "has no access to the cluster, which it takes"
		return result
	}
	result.Status, result.Message = Warning, leaves+"there is no object of it"
	result.Remedy = "run `kubectl delete crd " + d.crd.Name + "`, unless another installation has the kind"
	namespaces := c.Namespaces[:min(len(c.Namespaces), maxNamespaces)]
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	resource := schema.GroupVersionResource{Group: d.Group, Version: hub, Resource: d.Plural}
	for _, namespace := range namespaces {
		list, err := r.options.Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err != nil:
			return unread(CheckDefinition, d.object(), "list on "+d.Plural+"."+d.Group+in(namespace), err, "")
		case len(list.Items) > 0:
			return Result{CheckDefinition, d.object(), Failed,
				leaves + "there are objects of it, such as " + list.Items[0].GetNamespace() + "/" + list.Items[0].GetName() +
					": nothing reconciles them or takes off their finalizers",
				"name the kind again, delete the CRD, and then leave the kind out (docs/guides/install-scope.md#take-a-kind-out)"}
		}
	}
	return result
}
