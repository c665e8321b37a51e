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
	errs := append(WorkloadGroup(path.Child("group"), w.Group, kinds...), WorkloadKind(path.Child("kind"), w.Group, w.Kind, kinds...)...)
	return append(errs, Text(path.Child("name"), w.Name, 1, 253)...)
}

// WorkloadGroup checks the group of workloads, which may be absent, of one of some kinds.
func WorkloadGroup(path Path, group string, kinds ...common.WorkloadKind) field.ErrorList {
	errs := Text(path, group, 0, 253)
	groups := []string{common.AppsGroup}
	if slices.Contains(kinds, common.WorkloadRollout) {
		groups = append(groups, common.RolloutsGroup)
	}
	if group != "" && !slices.Contains(groups, group) {
		errs = append(errs, field.Invalid(path.Field(), group, "group must be "+strings.Join(groups, " or ")))
	}
	return errs
}

// WorkloadKind checks that a kind of workloads is one of some, and of their group.
func WorkloadKind(path Path, group string, kind common.WorkloadKind, kinds ...common.WorkloadKind) field.ErrorList {
	errs := Text(path, string(kind), 1, 63)
	DefaultGroup(&group)
	if !slices.Contains(kinds, kind) || (kind.Group() == common.RolloutsGroup) != (group == common.RolloutsGroup) {
		errs = append(errs, field.Invalid(path.Field(), kind, KindMustBe(kinds)))
	}
	return errs
}

// KindMustBe returns which kinds a field takes, as a message.
func KindMustBe(kinds []common.WorkloadKind) string {
	var names []string
	others := ""
	for _, kind := range kinds {
		if kind.Group() == common.AppsGroup {
			names = append(names, string(kind))
		} else {
			others = ", or with group " + kind.Group() + " " + string(kind)
		}
	}
	last := len(names) - 1
	return "kind must be " + strings.Join(names[:last], ", ") + " or " + names[last] + others
}

// DefaultGroup sets the group of workloads that have none.
func DefaultGroup(group *string) {
	if *group == "" {
		*group = common.AppsGroup
	}
}
