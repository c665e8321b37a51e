// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// longName is longer than today's rules allow, at the root of the object.
var longName = "long-" + strings.Repeat("x", 60)

// yesterday fills the cluster as it was: CRDs that store v1alpha1, and none of today's rules.
func (s *upgradeSuite) yesterday() {
	s.Helper()
	s.stores("v1alpha1")
	for _, k := range kinds {
		_, err := s.crds.Patch(s.Context(), k.definition(), "application/merge-patch+json",
			[]byte(`{"status": {"storedVersions": ["v1alpha1"]}}`), metav1.PatchOptions{}, "status")
		s.Must(err)
	}
	s.starts("--set=storageMigration.enabled=false")
	s.Must(s.Reachable(s.Context()))
	s.Kubectl("delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "-l", "app.kubernetes.io/name=fairlead")
	s.settled("v1alpha1")
	for _, k := range kinds {
		for i := range k.count {
			s.Must(s.good(k, i))
		}
		for name, spec := range k.refused {
			object, err := k.object("v1alpha1", name, spec)
			s.Must(err)
			_, err = s.of(k, "v1alpha1").Apply(s.Context(), name, object, metav1.ApplyOptions{FieldManager: "kubectl"})
			s.Must(err)
		}
		for name, body := range k.foreign {
			s.puts(k, name, body)
		}
		s.puts(k, longName, "{spec: "+fmt.Sprintf(k.old, 1)+"}")
	}
}

// good writes one of the good objects, by one of several appliers.
func (s *upgradeSuite) good(k kind, i int) error {
	version, spec := "v1alpha1", k.old
	if i%5 == 4 {
		version, spec = "v1", k.new
	}
	name := nameOf(i)
	object, err := k.object(version, name, fmt.Sprintf(spec, i%200+1))
	if err != nil {
		return err
	}
	objects := s.of(k, version)
	switch i % 3 {
	case 0: // as kubectl create does
		_, err = objects.Create(s.Context(), object, metav1.CreateOptions{FieldManager: "kubectl-create"})
	case 1: // as kubectl apply does
		raw, marshal := json.Marshal(object.Object)
		if marshal != nil {
			return marshal
		}
		object.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(raw)})
		_, err = objects.Create(s.Context(), object, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	default: // as kubectl apply --server-side does, and a controller at the other version
		if _, err = objects.Apply(s.Context(), name, object, metav1.ApplyOptions{FieldManager: "kubectl"}); err != nil {
			return err
		}
		label := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.group + "/v1", "kind": k.name,
			"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"team": "payments"}}}}
		_, err = s.of(k, "v1").Apply(s.Context(), name, label, metav1.ApplyOptions{FieldManager: "labeler"})
	}
	return err
}

func nameOf(i int) string { return fmt.Sprintf("o-%05d", i) }

// puts stores an object behind the API server's back, as an older release of the schema let it pass.
func (s *upgradeSuite) puts(k kind, name, body string) {
	s.Helper()
	object, err := k.whole("v1alpha1", name, body)
	s.Must(err)
	object.SetUID(uuid.NewUUID())
	object.SetGeneration(1)
	object.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
	raw, err := json.Marshal(object.Object)
	s.Must(err)
	s.Must(s.Store(s.Context(), key(k, name), raw))
}
