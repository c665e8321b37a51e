// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestABundleThatWasWipedIsPublishedAgainByAStart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	want := s.bundle(framework.Definitions[0])
	r.Stop()

	// What a user's kubectl replace of the shipped manifests does.
	for _, definition := range framework.Definitions {
		s.wipe(definition)
	}
	for _, object := range s.trusting() {
		resource := map[string]schema.GroupVersionResource{
			"MutatingWebhookConfiguration": mutating, "ValidatingWebhookConfiguration": validating,
		}[object.GetKind()]
		if resource.Empty() {
			continue
		}
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		s.Must(err)
		for _, hook := range hooks {
			unstructured.RemoveNestedField(hook.(map[string]any), "clientConfig", "caBundle")
		}
		s.patch(resource, object.GetName(), map[string]any{"webhooks": hooks})
	}
	for _, object := range s.trusting() {
		for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			if len(bundle) > 0 {
				t.Fatalf("%s was not wiped", path)
			}
		}
	}

	s.Must(r.Start(t.Context()))
	r.reaches("ca-published", "done")
	for _, object := range s.trusting() {
		for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			if !bytes.Equal(bundle, want) {
				t.Errorf("%s was not healed", path)
			}
		}
		s.ownsBundlesAlone(object)
	}
	namespace := s.NewNamespace()
	s.create(namespace, "one")
}
