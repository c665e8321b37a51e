// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	chaosPod            = schema.GroupVersionKind{Group: "chaos.fairlead.dev", Version: "v1", Kind: "ChaosPod"}
	clusterRebootPolicy = schema.GroupVersionKind{Group: "autoreboot.fairlead.dev", Version: "v1", Kind: "ClusterRebootPolicy"}
	externalService     = schema.GroupVersionKind{Group: "networking.fairlead.dev", Version: "v1", Kind: "ExternalService"}
	rebootPolicy        = schema.GroupVersionKind{Group: "autoreboot.fairlead.dev", Version: "v1", Kind: "RebootPolicy"}

	kinds = []schema.GroupVersionKind{chaosPod, clusterRebootPolicy, externalService, rebootPolicy}

	// inOrder is how Velero restores: what its --restore-resource-priorities has, and then the rest by the names of resources.
	inOrder = []schema.GroupVersionKind{
		{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Pod"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Version: "v1", Kind: "Service"},
		chaosPod, clusterRebootPolicy, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
		externalService, rebootPolicy,
	}
)

// backup holds the objects of a namespace as Velero stores them, in the order in which it restores them.
type backup []unstructured.Unstructured

// export returns a backup in which the objects of Fairlead have a version, their status if that is to be restored, and policies
// the owner that made them if the tool keeps owners.
func (s *suite) export(version string, withStatus, withOwners bool) (objects backup) {
	s.Helper()
	for _, kind := range inOrder {
		ours := slices.Contains(kinds, kind)
		if ours {
			kind.Version = version
		}
		found, err := s.list(kind)
		s.Must(err)
		for _, object := range found {
			if !ours || !withStatus {
				delete(object.Object, "status")
			}
		}
		objects = append(objects, found...)
	}
	for _, object := range objects {
		if !withOwners || object.GetKind() != rebootPolicy.Kind {
			object.SetOwnerReferences(nil)
		}
		for _, path := range [][]string{
			{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"},
			{"metadata", "generateName"},
			{"spec", "nodeName"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}, // of a Pod, and of a Service
		} {
			unstructured.RemoveNestedField(object.Object, path...)
		}
	}
	return objects
}

// restore creates what is not there, as often as it is called. It returns what the API server refuses.
func (s *suite) restore(objects backup) error {
	s.Helper()
	var refused []error
	for _, object := range objects {
		if err := s.create(object.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			refused = append(refused, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(refused...)
}

// create creates an object with the label of a restore, and then writes its field managers as they were, and its status if
// it has one.
func (s *suite) create(object *unstructured.Unstructured) error {
	managers, status := object.GetManagedFields(), object.Object["status"]
	object.SetManagedFields(nil)
	if object.GetNamespace() != "" {
		object.SetNamespace(s.Namespace)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["velero.io/restore-name"] = "monday"
	object.SetLabels(labels)
	if err := s.Client.Create(s.Context(), object); err != nil {
		return err
	}
	err := s.Client.Patch(s.Context(), object, merge(map[string]any{"metadata": map[string]any{"managedFields": managers}}))
	if err == nil && status != nil {
		err = s.Client.Status().Patch(s.Context(), object, merge(map[string]any{"status": status}))
	}
	return client.IgnoreNotFound(err)
}

// merge returns a merge patch.
func merge(patch map[string]any) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(framework.Text(patch)))
}
