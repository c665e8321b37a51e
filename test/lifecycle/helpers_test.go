// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience is how long a condition may take. The machine may be a busy one.
const patience = 2 * time.Minute

var (
	services   = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1", Resource: "externalservices"}
	oldOnes    = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1alpha1", Resource: "externalservices"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	mutating   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validating = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

	definitions = []string{"externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev", "chaospods.chaos.fairlead.dev"}
)

// freeLeases is for who comes next: a replica that was killed leaves the Lease behind.
func (s *suite) freeLeases() {
	s.Helper()
	s.must(s.kube.CoordinationV1().Leases(framework.Namespace).DeleteCollection(s.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// sub is the suite of a part of the test.
func (s *suite) sub(t *testing.T) *suite {
	inner := *s
	inner.T = t
	return &inner
}

// admin is the configuration of a client that is not restricted or slowed down.
func (s *suite) admin() *rest.Config {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	s.must(err)
	config.QPS = -1
	return config
}

// must ends the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until ask returns nil.
func (s *suite) eventually(ask func() error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }))
}

// kubectl runs it as the administrator; a failure ends the test.
func (s *suite) kubectl(args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	out, err := s.Kubectl(ctx, args...)
	s.must(err)
	return out
}

// newNamespace makes one for the test.
func (s *suite) newNamespace() string {
	s.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generateName": "t-"}}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	made, err := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
	return made.GetName()
}

// old is an ExternalService as v1alpha1 writes it.
func old(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.fairlead.dev/v1alpha1", "kind": "ExternalService",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"hosts": []any{"192.0.2.20"}, "ports": map[string]any{"http": int64(80)}},
	}}
}

// create writes v1alpha1 ExternalServices: admission, and conversion both ways.
func (s *suite) create(namespace string, names ...string) {
	s.Helper()
	s.must(s.Reachable(s.Context()))
	for _, name := range names {
		_, err := s.client.Resource(oldOnes).Namespace(namespace).Create(s.Context(), old(name), metav1.CreateOptions{})
		s.must(err)
	}
}

// reconciled waits until ExternalServices are Ready and have their Services.
func (s *suite) reconciled(namespace string, names ...string) {
	s.Helper()
	for _, name := range names {
		s.eventually(func() error {
			object, err := s.client.Resource(services).Namespace(namespace).Get(s.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !ready(object) {
				return fmt.Errorf("%s/%s is not Ready: %v", namespace, name, object.Object["status"])
			}
			_, err = s.kube.CoreV1().Services(namespace).Get(s.Context(), name, metav1.GetOptions{})
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
	s.must(err)
	_, err = s.client.Resource(resource).Patch(s.Context(), name, types.MergePatchType, raw, metav1.PatchOptions{})
	s.must(err)
}

// expect wants every piece in a text.
func (s *suite) expect(text string, wanted ...string) {
	s.Helper()
	if err := holds(text, wanted...); err != nil {
		s.Error(err)
	}
}

func holds(text string, wanted ...string) error {
	var errs []error
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			errs = append(errs, fmt.Errorf("expected %q in:\n%s", w, text))
		}
	}
	return errors.Join(errs...)
}
