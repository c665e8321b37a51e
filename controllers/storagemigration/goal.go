// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

// goal is what a CRD wants of its objects.
type goal struct {
	resource schema.GroupVersionResource // at the storage version
	// through are the served versions, the one that Kubernetes prefers first. A write through any of them
	// is stored at the storage version. Admission is registered at the first: through another one the API
	// server converts the object some 20 times for webhooks, policies and managedFields, which made a
	// roll-back five times as long as an upgrade.
	through []schema.GroupVersionResource
	kind    string
	served  []string // apiVersions, sorted
	// old are the versions that objects may still be stored at.
	old []string

	uid        types.UID
	generation int64
}

// goalOf a CRD. It fails where there is no storage version, which the API server forbids.
func goalOf(crd *apiextensionsv1.CustomResourceDefinition) (goal, error) {
	g := goal{kind: crd.Spec.Names.Kind, uid: crd.UID, generation: crd.Generation}
	for _, v := range crd.Spec.Versions {
		at := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		if v.Storage {
			g.resource = at.WithResource(crd.Spec.Names.Plural)
		}
		if v.Served {
			g.served = append(g.served, at.String())
			g.through = append(g.through, at.WithResource(crd.Spec.Names.Plural))
		}
	}
	if g.resource.Empty() {
		return g, fmt.Errorf("CRD %s has no storage version", crd.Name)
	}
	if !slices.Contains(g.served, g.resource.GroupVersion().String()) {
		return g, fmt.Errorf("CRD %s does not serve %s, which it stores: objects can be rewritten only at a version that is served", crd.Name, g.resource.Version)
	}
	slices.Sort(g.served)
	slices.SortFunc(g.through, func(a, b schema.GroupVersionResource) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	for _, stored := range crd.Status.StoredVersions {
		if stored != g.resource.Version {
			g.old = append(g.old, stored)
		}
	}
	return g, nil
}

// Annotation of a CRD holds the goal that its objects have reached.
const Annotation = "fairlead.dev/storage-migration"

// reached reports whether nothing is left to do.
func (g goal) reached(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Annotations[Annotation] == g.String() && len(g.old) == 0
}

// String identifies the goal: where it was reached, no object need be rewritten for it again. It holds the CRD's
// UID, since one that was deleted and made again from a backup has other objects.
func (g goal) String() string {
	versions := make([]string, 0, len(g.served))
	for _, served := range g.served {
		versions = append(versions, served[strings.LastIndexByte(served, '/')+1:])
	}
	return fmt.Sprintf("%s stores %s serves %s", g.uid, g.resource.Version, strings.Join(versions, ","))
}

// same reports whether the other is the goal of the same CRD with the same spec.
func (g goal) same(other goal) bool {
	return g.uid == other.uid && g.generation == other.generation && g.String() == other.String()
}
