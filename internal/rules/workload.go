// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Workload checks a reference to a workload, which may be nil, of one of some kinds.
func Workload(path Path, w *common.WorkloadReference, kinds ...common.WorkloadKind) field.ErrorList {
	if w == nil {
		return nil
	}
	errs := append(WorkloadGroup(path.Child("group"), w.Group), WorkloadKind(path.Child("kind"), w.Kind, kinds...)...)
	return append(errs, Text(path.Child("name"), w.Name, 1, 253)...)
}

// WorkloadGroup checks the group of workloads, which may be absent.
func WorkloadGroup(path Path, group string) field.ErrorList {
	errs := Text(path, group, 0, 253)
	if group != "" && group != common.AppsGroup {
		errs = append(errs, field.Invalid(path.Field(), group, "group must be "+common.AppsGroup))
	}
	return errs
}

// WorkloadKind checks that a kind of workloads is one of some.
func WorkloadKind(path Path, kind common.WorkloadKind, kinds ...common.WorkloadKind) field.ErrorList {
	errs := Text(path, string(kind), 1, 63)
	if !slices.Contains(kinds, kind) {
		errs = append(errs, field.Invalid(path.Field(), kind, "kind must be "+oneOf(kinds)))
	}
	return errs
}

// oneOf lists kinds as the end of a sentence.
func oneOf(kinds []common.WorkloadKind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// DefaultGroup sets the group of workloads that have none.
func DefaultGroup(group *string) {
	if *group == "" {
		*group = common.AppsGroup
	}
}
