// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAnUpgradeOverFourGenerationsLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "upgrades")
	m, _ := s.migrator(nil)
	s.define("v1alpha1 served storage")
	s.owns("v1alpha1", "first", "ann")
	s.owns("v1alpha1", "shared", "ann")
	s.runs(m)
	s.complete(m)

	s.define("v1alpha1 served storage", "v1 served")
	s.owns("v1", "second", "bob")
	s.owns("v1", "shared", "bob")
	s.complete(m)
	s.storedVersions("v1alpha1")

	s.define("v1alpha1 served", "v1 served storage")
	s.storedVersions("v1")
	for _, name := range []string{"first", "shared", "second"} {
		if at := s.storedAt(name); at != "v1" {
			t.Errorf("%s is stored at %s", name, at)
		}
	}
	// Who applied at the old version goes on owning what it applied, as long as that is served.
	if got := s.managers("first"); !slices.Contains(got, "ann at v1alpha1") {
		t.Errorf("managers of first are %q", got)
	}
	s.owns("v1alpha1", "late", "ann")

	s.define("v1alpha1", "v1 served storage")
	s.Eventually(func() error { return s.noneOf("v1alpha1", "first", "shared", "late") })
	s.complete(m)

	// The API server now lets the old version go; it refuses that as long as the list names it.
	s.define("v1 served storage")
	for _, name := range []string{"first", "shared"} {
		s.owns("v1", name, "ann")
	}
	for name, owners := range map[string][]string{"first": {"ann"}, "shared": {"ann", "bob"}, "second": {"bob"}, "late": {"ann"}} {
		spec := s.view(name).Object["spec"].(map[string]any)
		for _, owner := range owners {
			if spec[owner] != "was here" {
				t.Errorf("%s lost the field of %s: %v", name, owner, spec)
			}
		}
	}
	// Fields without a manager have no owner: "before-first-apply" would hold on to it for ever.
	if got := strings.Join(s.managers("late"), ", "); strings.Contains(got, "before-first-apply") {
		t.Errorf("managers of late are %s", got)
	}
}

func TestARollBackIsAMigrationToo(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "rollbacks")
	m, _ := s.migrator(nil)
	s.define("v1alpha1 served", "v1 served storage")
	s.owns("v1", "new", "bob")
	s.owns("v1alpha1", "old", "ann")
	s.runs(m)
	s.complete(m)
	s.define("v1alpha1 served storage", "v1 served")
	s.storedVersions("v1alpha1")
	for _, name := range []string{"new", "old"} {
		if at := s.storedAt(name); at != "v1alpha1" {
			t.Errorf("%s is stored at %s", name, at)
		}
	}
	// And forward again: what was reached once is not taken for reached now.
	s.define("v1alpha1 served", "v1 served storage")
	s.storedVersions("v1")
	if at := s.storedAt("new"); at != "v1" {
		t.Errorf("new is stored at %s", at)
	}
}

// view is an object at v1.
func (s *suite) view(name string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	s.Must(json.Unmarshal([]byte(s.Kubectl("get", s.plural+".v1.toys.example.com", name, "-o", "json", "--show-managed-fields")), &object.Object))
	return object
}

// managers are those of an object, such as "ann at v1".
func (s *suite) managers(name string) []string {
	s.Helper()
	var all []string
	for _, entry := range s.view(name).GetManagedFields() {
		all = append(all, entry.Manager+" at "+strings.TrimPrefix(entry.APIVersion, "toys.example.com/"))
	}
	return all
}

// noneOf wants no managed field of a version on any of the objects.
func (s *suite) noneOf(version string, names ...string) error {
	s.Helper()
	for _, name := range names {
		for _, entry := range s.view(name).GetManagedFields() {
			if strings.HasSuffix(entry.APIVersion, "/"+version) {
				return fmt.Errorf("%s has fields of %s at %s", name, entry.Manager, entry.APIVersion)
			}
		}
	}
	return nil
}
