// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation of a CRD records how far the migration of its objects has come.
const Annotation = "fairlead.dev/storage-migration"

// record is the content of the annotation.
type record struct {
	// Goal is the one that was reached, or is being worked on.
	Goal string `json:"goal"`
	// Done means that it was reached.
	Done bool `json:"done,omitempty"`
	// Generation of the CRD during a pass that is not done.
	Generation int64 `json:"generation,omitempty"`
	// After is the namespace and name of the last object that such a pass has come to.
	After string `json:"after,omitempty"`
	// Left are objects up to there that could not be rewritten, maxKept at most.
	Left []string `json:"left,omitempty"`
}

// maxKept bounds the objects that a record names. With more of them the position stays before the rest.
const maxKept = 20

// recordOf a CRD; zero where there is none that can be read.
func recordOf(crd *apiextensionsv1.CustomResourceDefinition) record {
	var r record
	if json.Unmarshal([]byte(crd.Annotations[Annotation]), &r) != nil {
		return record{}
	}
	return r
}

// reached reports whether nothing is left to do for the goal.
func (r record) reached(g goal) bool { return r.Done && r.Goal == g.String() && len(g.old) == 0 }

// position is where a pass for the goal goes on, and what it tries again before; empty for the beginning.
// A CRD that has changed since may have had another storage version in between.
func (r record) position(g goal) (after string, left []string) {
	if r.Done || r.Goal != g.String() || r.Generation != g.generation {
		return "", nil
	}
	return r.After, r.Left
}

// keep writes a record. An annotation alone makes the API server convert nothing.
func (m *Migrator) keep(ctx context.Context, name string, r record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{Annotation: string(value)}}})
	if err != nil {
		return err
	}
	_, err = m.Definitions.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Name})
	return err
}
