// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// goal is what a definition wants of its objects.
type goal struct {
	resource schema.GroupVersionResource   // at the storage version
	others   []schema.GroupVersionResource // at the other served versions, in the order of the definition
	kind     string
	served   []string // apiVersions, sorted
	// old are the versions that objects may still be stored at.
	old []string

	uid        types.UID
	generation int64
}

// goalOf a definition. It fails where there is no storage version, which the API server forbids.
func goalOf(crd *apiextensionsv1.CustomResourceDefinition) (goal, error) {
	g := goal{kind: crd.Spec.Names.Kind, uid: crd.UID, generation: crd.Generation}
	for _, version := range crd.Spec.Versions {
		at := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		if version.Storage {
			g.resource = at.WithResource(crd.Spec.Names.Plural)
		}
		if version.Served {
			g.served = append(g.served, at.String())
			if !version.Storage {
				g.others = append(g.others, at.WithResource(crd.Spec.Names.Plural))
			}
		}
	}
	if g.resource.Empty() {
		return g, fmt.Errorf("definition %s has no storage version", crd.Name)
	}
	if !slices.Contains(g.served, g.resource.GroupVersion().String()) {
		return g, fmt.Errorf("definition %s does not serve %s, which it stores: objects can be rewritten only at a version that is served", crd.Name, g.resource.Version)
	}
	slices.Sort(g.served)
	for _, version := range crd.Status.StoredVersions {
		if version != g.resource.Version {
			g.old = append(g.old, version)
		}
	}
	return g, nil
}

// String identifies the goal: a pass that reached it need not be made again. It holds the definition's
// UID, since one that was deleted and made again from a backup has other objects.
func (g goal) String() string {
	versions := make([]string, 0, len(g.served))
	for _, version := range g.served {
		versions = append(versions, version[strings.LastIndexByte(version, '/')+1:])
	}
	return fmt.Sprintf("%s stores %s serves %s", g.uid, g.resource.Version, strings.Join(versions, ","))
}

// same says whether the other is the goal of the same definition with the same spec.
func (g goal) same(other goal) bool {
	return g.uid == other.uid && g.generation == other.generation && g.String() == other.String()
}
