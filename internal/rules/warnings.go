// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

// NewWarnings returns the warnings of an object that its old one, which may be nil, did not have: a warning
// that is repeated at every write is not read.
func NewWarnings[T any](obj, old *T, warnings func(*T) []string) []string {
	known := map[string]bool{}
	if old != nil {
		for _, text := range warnings(old) {
			known[text] = true
		}
	}
	var fresh []string
	for _, text := range warnings(obj) {
		if !known[text] {
			fresh = append(fresh, text)
		}
	}
	return fresh
}

// LongSteps warns of the schedules of a spec whose steps are longer than their range. Those beside windows and
// blackouts are given with their paths.
func LongSteps(schedules map[string]string, windows, blackouts []common.Window) []string {
	var texts []string
	warn := func(path, schedule string) {
		if long := cron.LongSteps(schedule); len(long) > 0 {
			texts = append(texts, fmt.Sprintf("%s: the step of %s is longer than its range, so that only the first value matches", path, strings.Join(long, ", ")))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(schedules)) {
		warn(path, schedules[path])
	}
	for i := range windows {
		warn(fmt.Sprintf("spec.windows[%d].schedule", i), windows[i].Schedule)
	}
	for i := range blackouts {
		warn(fmt.Sprintf("spec.blackouts[%d].schedule", i), blackouts[i].Schedule)
	}
	return texts
}
