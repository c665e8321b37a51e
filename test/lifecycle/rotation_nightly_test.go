// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// A delivery tool that owns caBundle is recognized and left alone.
func TestABundleThatAnotherManagerAppliesIsNamedAndNotFoughtOver(t *testing.T) {
	t.Parallel()
	for title, take := range map[string]func(s *suite, object *unstructured.Unstructured){
		"by server-side apply, as Argo CD does": func(s *suite, object *unstructured.Unstructured) {
			manager, force := "argocd-controller", true
			applied := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": map[string]any{"name": object.GetName()},
				"spec": map[string]any{"conversion": object.Object["spec"].(map[string]any)["conversion"]},
			}}
			_, err := s.Dynamic.Resource(crds).Apply(s.Context(), object.GetName(), applied, metav1.ApplyOptions{FieldManager: manager, Force: force})
			s.Must(err)
		},
		"by update, as Helm does": func(s *suite, object *unstructured.Unstructured) {
			_, err := s.Dynamic.Resource(crds).Update(s.Context(), object, metav1.UpdateOptions{FieldManager: "helm"})
			s.Must(err)
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			r := s.start()
			r.reconciles()
			r.Stop()
			name := framework.Definitions[2]
			good := s.bundle(name)
			foreign := s.issue(time.Hour).ca
			object, err := s.Dynamic.Resource(crds).Get(t.Context(), name, metav1.GetOptions{})
			s.Must(err)
			s.Must(unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString([]byte(foreign)), "spec", "conversion", "webhook", "clientConfig", "caBundle"))
			object.SetManagedFields(nil)
			take(s, object)
			defer s.wipe(name)

			late := s.launch("--leader-elect=false", impatient)
			manager := "argocd-controller"
			if strings.Contains(title, "Helm") {
				manager = "helm"
			}
			late.reachesLate("ca-published", name, "another field manager", manager)
			if got := s.bundle(name); string(got) != foreign || slices.Equal(got, good) {
				t.Errorf("the other manager's bundle was replaced: %q", got)
			}
		})
	}
}
