// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// definition has versions such as "v1 served storage", and stored versions.
func definition(stored []string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com", UID: "one", Generation: 3},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: stored},
	}
	for _, version := range versions {
		name, rest, _ := strings.Cut(version, " ")
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: strings.Contains(rest, "served"), Storage: strings.Contains(rest, "storage"),
		})
	}
	return crd
}

func goalAt(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) goal {
	t.Helper()
	g, err := goalOf(crd)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAGoalIsReachedOnlyWithNothingStoredAtAnOldVersion(t *testing.T) {
	both := []string{"v1alpha1 served", "v1 served storage"}
	for name, c := range map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		note string
		want bool
	}{
		"noted":                     {definition([]string{"v1"}, both...), "one stores v1 serves v1,v1alpha1", true},
		"noted, and old again":      {definition([]string{"v1alpha1", "v1"}, both...), "one stores v1 serves v1,v1alpha1", false},
		"noted for another storage": {definition([]string{"v1"}, both...), "one stores v1alpha1 serves v1,v1alpha1", false},
		"noted before one went":     {definition([]string{"v1"}, "v1alpha1", "v1 served storage"), "one stores v1 serves v1,v1alpha1", false},
		"noted of a former object":  {definition([]string{"v1"}, both...), "two stores v1 serves v1,v1alpha1", false},
		"another text":              {definition([]string{"v1"}, both...), "{", false},
		"nothing":                   {definition([]string{"v1"}, both...), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.crd.Annotations = map[string]string{Annotation: c.note}
			if got := goalAt(t, c.crd).reached(c.crd); got != c.want {
				t.Errorf("reached: %v, want %v", got, c.want)
			}
		})
	}
}

// A webhook or policy is registered at the preferred version: a write through another is converted for each.
func TestObjectsAreRewrittenThroughThePreferredVersionWhateverIsStored(t *testing.T) {
	for _, storage := range []string{"v1", "v1alpha1"} {
		var versions []string
		for _, version := range []string{"v1alpha1", "v1", "v1beta1", "v1beta2"} {
			if version == storage {
				version += " storage"
			}
			versions = append(versions, version+" served")
		}
		g := goalAt(t, definition([]string{"v1", "v1alpha1"}, append(versions, "v2")...))
		var through []string
		for _, resource := range g.through {
			through = append(through, resource.Version)
		}
		if want := []string{"v1", "v1beta2", "v1beta1", "v1alpha1"}; !cmp.Equal(through, want) || g.resource.Version != storage {
			t.Errorf("stored at %s, objects are rewritten through %v, want %s and %v", g.resource.Version, through, storage, want)
		}
	}
}

func TestADefinitionThatCannotBeMigratedIsNamed(t *testing.T) {
	for want, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{
		"CRD widgets.example.com has no storage version":                                                                        definition(nil, "v1 served"),
		"CRD widgets.example.com does not serve v1, which it stores: objects can be rewritten only at a version that is served": definition(nil, "v1alpha1 served", "v1 storage"),
	} {
		if _, err := goalOf(crd); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestManagersOfVersionsThatAreNotServedGo(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	entry := func(manager, version, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, APIVersion: "example.com/" + version, Operation: metav1.ManagedFieldsOperationApply, Subresource: subresource}
	}
	crd := definition([]string{"v1"}, "v1alpha1", "v1 served storage")
	g := goalAt(t, crd)
	for name, c := range map[string]struct {
		have  []metav1.ManagedFieldsEntry
		want  []string
		stale bool
	}{
		"all served":       {[]metav1.ManagedFieldsEntry{entry("ann", "v1", "")}, []string{"ann"}, false},
		"one of two":       {[]metav1.ManagedFieldsEntry{entry("ann", "v1alpha1", ""), entry("bob", "v1", "")}, []string{"bob"}, true},
		"of the status":    {[]metav1.ManagedFieldsEntry{entry("ann", "v1", ""), entry("bob", "v1alpha1", "status")}, []string{"ann"}, true},
		"all, so one owns": {[]metav1.ManagedFieldsEntry{entry("ann", "v1alpha1", "")}, []string{Name}, true},
		"none":             {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			kept, stale := g.managers(&metav1.ObjectMeta{ManagedFields: c.have}, now)
			var names []string
			for _, entry := range kept {
				names = append(names, entry.Manager)
			}
			if diff := cmp.Diff(c.want, names); diff != "" || stale != c.stale {
				t.Errorf("stale %v, want %v; managers (-want +got):\n%s", stale, c.stale, diff)
			}
		})
	}
}
