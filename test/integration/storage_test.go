// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// storeAt has the API server store a kind at a version from now on.
func (s *suite) storeAt(k kind, version string) {
	s.Helper()
	definition := &unstructured.Unstructured{}
	s.Must(json.Unmarshal([]byte(s.run("get", "crd", k.definition(), "-o", "json")), &definition.Object))
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	s.Must(err)
	var patch []any
	for i, v := range versions {
		patch = append(patch, map[string]any{
			"op": "replace", "path": fmt.Sprintf("/spec/versions/%d/storage", i), "value": v.(map[string]any)["name"] == version,
		})
	}
	before := s.storageHash(k)
	s.run("patch", "crd", k.definition(), "--type=json", "-p", framework.Text(patch))
	s.Eventually(func() error {
		if s.storageHash(k) == before {
			return fmt.Errorf("%s is not stored at %s yet", k.name, version)
		}
		return nil
	})
}

// storageHash names the version that a kind is stored at, in the words of discovery.
func (s *suite) storageHash(k kind) string {
	s.Helper()
	var list struct {
		Resources []struct{ Name, StorageVersionHash string }
	}
	s.Must(json.Unmarshal([]byte(s.run("get", "--raw", "/apis/"+k.group+"/v1")), &list))
	for _, resource := range list.Resources {
		if resource.Name == k.resource {
			return resource.StorageVersionHash
		}
	}
	s.Fatalf("%s is not served at v1", k.name)
	return ""
}

// conversions are how often the API server had objects of a kind converted to v1, and to v1alpha1.
func (s *suite) conversions(k kind) (toHub, toSpoke int) {
	s.Helper()
	samples := s.APIServer()
	between := func(from, to string) int {
		return int(samples.Sum("apiserver_crd_conversion_webhook_duration_seconds_count",
			fmt.Sprintf("crd_name=%q", k.definition()), fmt.Sprintf("from_version=%q", from), fmt.Sprintf("to_version=%q", to)))
	}
	return between("v1alpha1", "v1"), between("v1", "v1alpha1")
}

// Objects of a cluster that stored v1alpha1 once are read at v1 like all others. Changing the
// storage version closes all watches of a kind, which other tests would notice.
func TestAnObjectStoredAtV1alpha1ReadsAtV1(t *testing.T) {
	s := newSuite(t)
	for _, p := range pairs {
		s.storeAt(p.kind, "v1alpha1")
		// The handler learns of the change on its own: what counts is what a read from storage costs.
		var stored string
		s.Eventually(func() error {
			before, toSpoke := s.conversions(p.kind)
			stored = fmt.Sprintf("old-%d", before+toSpoke)
			s.run("create", "-f", "-", "--", p.object("v1alpha1", stored, p.old))
			before, _ = s.conversions(p.kind)
			s.view(p.kind, "v1", stored)
			if after, _ := s.conversions(p.kind); after == before {
				return fmt.Errorf("%s was not stored at v1alpha1", stored)
			}
			return nil
		})
		s.run("patch", p.at("v1"), stored, "--type=merge", "-p", p.newEdit)
		s.storeAt(p.kind, "v1")

		s.Eventually(func() error {
			found := s.list(p.kind, "v1", metav1.ListOptions{})
			for _, object := range found {
				if object.GetName() == stored {
					s.sameField(&object, p.newPath, p.newSeen)
					return nil
				}
			}
			return fmt.Errorf("LIST at v1 does not hold %s: %d objects", stored, len(found))
		})
		s.holds(s.view(p.kind, "v1alpha1", stored), p.old)
		s.run("patch", p.at("v1alpha1"), stored, "--type=merge", "-p", p.oldEdit)
		s.sameField(s.view(p.kind, "v1", stored), p.oldPath, p.oldSeen)
		s.sameField(s.view(p.kind, "v1", stored), p.newPath, p.newSeen)

		// Nothing is stored at v1alpha1 any more once all was written again.
		s.run("label", p.at("v1"), "--all", "written=again")
		s.run("patch", "crd", p.definition(), "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":["v1"]}}`)
	}
	s.publish("after", database)
}
