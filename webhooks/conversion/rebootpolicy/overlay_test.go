// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// A list may be as long as a request, so that comparing each name with each other one would take minutes.
func TestALongListIsMergedWithFewLooksAtNames(t *testing.T) {
	const n = 2000
	items := make([]autorebootv1.Trigger, n)
	for i := range items {
		items[i] = autorebootv1.Trigger{Name: fmt.Sprint("trigger-", i), Type: autorebootv1.TriggerProbe}
	}
	after, looks := slices.Clone(items), 0
	slices.Reverse(after)
	merged := mergeNamed(items, items, after, func(t *autorebootv1.Trigger) string {
		looks++
		return t.Name
	})
	if looks > 10*n {
		t.Errorf("%d names were looked at %d times", n, looks)
	}
	if len(merged) != n || merged[0].Name != after[0].Name || merged[n-1].Name != after[n-1].Name {
		t.Errorf("%d triggers are left, or in another order", len(merged))
	}
}
