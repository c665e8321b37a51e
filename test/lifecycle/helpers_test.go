// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	services                   = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1", Resource: "externalservices"}
	oldOnes                    = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1alpha1", Resource: "externalservices"}
	crds, mutating, validating = framework.CRDs, framework.MutatingWebhooks, framework.ValidatingWebhooks
)

// in is the suite of a part of the test.
func (s *suite) in(t *testing.T) *suite { return &suite{s.In(t)} }

// freeLeases is for who comes next: a replica that was killed leaves the Lease behind.
func (s *suite) freeLeases() {
	s.Helper()
	s.Must(s.Kube.CoordinationV1().Leases(framework.Namespace).DeleteCollection(s.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// old is an ExternalService as v1alpha1 writes it.
func old(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.fairlead.dev/v1alpha1", "kind": "ExternalService",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"endpoints": []any{map[string]any{"name": "a", "addresses": []any{"192.0.2.20"}}},
			"ports":     []any{map[string]any{"name": "http", "port": int64(80)}},
		},
	}}
}

// create writes v1alpha1 ExternalServices: admission, and conversion both ways.
func (s *suite) create(namespace string, names ...string) {
	s.Helper()
	s.Must(s.Reachable(s.Context()))
	for _, name := range names {
		_, err := s.Dynamic.Resource(oldOnes).Namespace(namespace).Create(s.Context(), old(name), metav1.CreateOptions{})
		s.Must(err)
	}
}

// reconciled waits until ExternalServices are Ready and have their Services.
func (s *suite) reconciled(namespace string, names ...string) {
	s.Helper()
	for _, name := range names {
		s.Eventually(func() error {
			object, err := s.Dynamic.Resource(services).Namespace(namespace).Get(s.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !ready(object) {
				return fmt.Errorf("%s/%s is not Ready: %v", namespace, name, object.Object["status"])
			}
			_, err = s.Kube.CoreV1().Services(namespace).Get(s.Context(), name, metav1.GetOptions{})
			return err
		})
	}
}

func ready(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

// patch edits an object by a JSON merge patch.
func (s *suite) patch(resource schema.GroupVersionResource, name string, patch any) {
	s.Helper()
	raw, err := json.Marshal(patch)
	s.Must(err)
	_, err = s.Dynamic.Resource(resource).Patch(s.Context(), name, types.MergePatchType, raw, metav1.PatchOptions{})
	s.Must(err)
}
