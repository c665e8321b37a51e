// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// namespace of all objects of Fairlead's kinds here.
const namespace = "default"

// upgradeSuite is a control plane of a test's own, with Fairlead's CRDs and the shipped operator.
type upgradeSuite struct{ *suite }

func newUpgradeSuite(t *testing.T) *upgradeSuite {
	t.Helper()
	w := &upgradeSuite{suiteOn(t, tests.OpenFor(t, framework.Options{}), "")}
	t.Cleanup(func() {
		for _, problem := range w.Complaints() {
			t.Error(problem)
		}
	})
	return w
}

// of reaches the objects of a kind at a version.
func (s *upgradeSuite) of(k kind, version string) dynamic.ResourceInterface {
	return s.Dynamic.Resource(k.at(version)).Namespace(namespace)
}

// starts runs one more replica, until the test ends.
func (s *upgradeSuite) starts(args ...string) *framework.Replica {
	s.Helper()
	r, err := s.StartReplica(s.Context(), framework.Patient(args...)...)
	s.Must(err)
	return r
}

// stores has the API server store all kinds at a version, in CRDs that were applied.
func (s *upgradeSuite) stores(version string) {
	s.Helper()
	for _, k := range kinds {
		crd, err := s.crds.Get(s.Context(), k.definition(), metav1.GetOptions{})
		s.Must(err)
		var patch []any
		for i := range crd.Spec.Versions {
			patch = append(patch, map[string]any{
				"op": "replace", "path": fmt.Sprintf("/spec/versions/%d/storage", i), "value": crd.Spec.Versions[i].Name == version,
			})
		}
		raw, err := json.Marshal(patch)
		s.Must(err)
		_, err = s.crds.Patch(s.Context(), k.definition(), types.JSONPatchType, raw, metav1.PatchOptions{})
		s.Must(err)
	}
}

// settled waits until what is written is stored at a version: a handler learns of a CRD late.
func (s *upgradeSuite) settled(version string) {
	s.Helper()
	for _, k := range kinds {
		n := 0
		s.Eventually(func() error {
			n++
			object, err := k.object("v1alpha1", fmt.Sprintf("settled-%s-%d", version, n), fmt.Sprintf(k.old, 1))
			if err != nil {
				return err
			}
			if _, err := s.of(k, "v1alpha1").Create(s.Context(), object, metav1.CreateOptions{}); err != nil {
				return err
			}
			stored := s.stored(k, object.GetName()).GetAPIVersion()
			if err := s.of(k, "v1alpha1").Delete(s.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
				return err
			}
			if want := k.group + "/" + version; stored != want {
				return fmt.Errorf("stored at %s, want %s", stored, want)
			}
			return nil
		})
	}
}

// key is where etcd holds an object.
func key(k kind, name string) string {
	return "/registry/" + k.group + "/" + k.resource + "/" + namespace + "/" + name
}

// stored is an object as etcd holds it.
func (s *upgradeSuite) stored(k kind, name string) *unstructured.Unstructured {
	s.Helper()
	raw, err := s.Stored(s.Context(), key(k, name))
	s.Must(err)
	object := &unstructured.Unstructured{}
	s.Must(json.Unmarshal(raw, &object.Object))
	return object
}

// only waits until every CRD names exactly one stored version.
func (s *upgradeSuite) only(version string) {
	s.Helper()
	for _, k := range kinds {
		s.Eventually(func() error {
			crd, err := s.crds.Get(s.Context(), k.definition(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := strings.Join(crd.Status.StoredVersions, " "); got != version {
				return fmt.Errorf("status.storedVersions of %s is %q, want %s; the CRD says %v", k.name, got, version, crd.Annotations)
			}
			return nil
		})
	}
}

// told are the notes of the events that the migration made.
func (s *upgradeSuite) told(reason string) []string {
	s.Helper()
	events, err := s.Kube.EventsV1().Events("").List(s.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	s.Must(err)
	var notes []string
	for _, event := range events.Items {
		notes = append(notes, event.Note)
	}
	return notes
}

// calls are how many patches of objects a kind took, and how many conversions.
func (s *upgradeSuite) calls(k kind) (patches, conversions int) {
	s.Helper()
	page := s.APIServer()
	patches = int(page.Sum("apiserver_request_total", `resource="`+k.resource+`"`, `verb="PATCH"`, `subresource=""`))
	conversions = int(page.Sum("apiserver_crd_conversion_webhook_duration_seconds_count", `crd_name="`+k.definition()+`"`))
	return patches, conversions
}

// retires stops all replicas that run.
func (s *upgradeSuite) retires() {
	for _, r := range s.Running() {
		s.Retire(r)
	}
}

// kills ends a leader by SIGKILL, frees its lease, and waits for the next.
func (s *upgradeSuite) kills(leader *framework.Replica) *framework.Replica {
	s.Helper()
	leader.Kill()
	s.Must(s.FreeLease(s.Context()))
	s.Retire(leader)
	next := s.Leader()
	if next == leader {
		s.Fatalf("%s leads and was killed", leader.ID)
	}
	return next
}
