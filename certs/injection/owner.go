// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ownedByInjector says whether what stands at the path is what the injector applied last. A writer that changes it
// takes the ownership away; one that only repeated it, as kubectl replace of a dump does, shares
// it, and must not keep a new bundle out.
func ownedByInjector(object *unstructured.Unstructured, path []string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply && owns(entry, path)
	})
}

func owns(entry metav1.ManagedFieldsEntry, path []string) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields map[string]any
	if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, found, err := unstructured.NestedFieldNoCopy(fields, path...)
	return found && err == nil
}

// writer names, for a person, who has put in what stands in the slots: the other managers that own
// a caBundle of the target, or, where a bundle was taken away and no manager owns it, who changed the
// target last.
func writer(kind *kind, object *unstructured.Unstructured, slots []slot) string {
	var owners []string
	var last *metav1.ManagedFieldsEntry
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == FieldOwner {
			continue
		}
		if last == nil || last.Time.Before(entry.Time) {
			last = &entry
		}
		if slices.ContainsFunc(slots, func(one slot) bool { return owns(entry, kind.path(one)) }) {
			owners = append(owners, describeManager(entry))
		}
	}
	switch {
	case len(owners) > 0:
		slices.Sort(owners)
		return strings.Join(slices.Compact(owners), " and ")
	case last != nil:
		return describeManager(*last) + ", the last one in its managed fields (a writer that only removes a field is not named there)"
	}
	return "a writer that is not in its managed fields"
}

func describeManager(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprintf("field manager %q (%s)", entry.Manager, entry.Operation)
}
