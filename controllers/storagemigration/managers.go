// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managers returns the managedFields of an object without the entries of versions that are not
// served, and whether there were any. What was written through such a version has no manager then.
func (g goal) managers(of metav1.Object, now time.Time) ([]metav1.ManagedFieldsEntry, bool) {
	entries := of.GetManagedFields()
	served := func(e metav1.ManagedFieldsEntry) bool { return slices.Contains(g.served, e.APIVersion) }
	if !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return !served(e) }) {
		return entries, false
	}
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if served(entry) {
			kept = append(kept, entry)
		}
	}
	if len(kept) == 0 {
		kept = []metav1.ManagedFieldsEntry{g.seed(now)}
	}
	return kept, true
}

// seed owns a field that everybody sends. With no entry at all the API server would take all fields
// for those of a manager "before-first-apply", which never gives them up.
func (g goal) seed(now time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager:    Name,
		Operation:  metav1.ManagedFieldsOperationApply,
		APIVersion: g.resource.GroupVersion().String(),
		Time:       &metav1.Time{Time: now},
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(`{"f:metadata":{"f:name":{}}}`),
	}
}
