// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
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

// The group of v1 follows the kind of v1alpha1, which has none, and stays as it was written otherwise.
func TestTheGroupOfATargetIsThatOfItsKind(t *testing.T) {
	for name, test := range map[string]struct {
		saved         autorebootv1.Target
		before, after string
		want          string
	}{
		"to a Rollout":          {autorebootv1.Target{Kind: "Deployment"}, "Deployment", "Rollout", "argoproj.io"},
		"from a Rollout":        {autorebootv1.Target{Group: "argoproj.io", Kind: "Rollout"}, "Rollout", "Deployment", ""},
		"within apps":           {autorebootv1.Target{Group: "apps", Kind: "Deployment"}, "Deployment", "StatefulSet", "apps"},
		"within the default":    {autorebootv1.Target{Kind: "Deployment"}, "Deployment", "StatefulSet", ""},
		"a selector of a group": {autorebootv1.Target{Group: "argoproj.io"}, "", "", "argoproj.io"},
		"to another project":    {autorebootv1.Target{Kind: "StatefulSet"}, "StatefulSet", "StatefulSet.apps.kruise.io", "apps.kruise.io"},
		"from another project":  {autorebootv1.Target{Group: "apps.kruise.io", Kind: "CloneSet"}, "CloneSet.apps.kruise.io", "Deployment", ""},
	} {
		test.saved.Name = "web"
		got := overlayTargets([]autorebootv1.Target{test.saved}, v1alpha1.Target{Kind: test.before, Name: "web"}, v1alpha1.Target{Kind: test.after, Name: "web"})
		if got[0].Group != test.want || strings.Contains(string(got[0].Kind), ".") {
			t.Errorf("%s: %q %q, want %q", name, got[0].Group, got[0].Kind, test.want)
		}
	}
	for group, kind := range map[string]common.WorkloadKind{"argoproj.io": "Rollout", "apps.kruise.io": "CloneSet"} {
		stored := hubForm{Spec: autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{{Group: group, Kind: kind, Name: "web"}}}}
		if got := up(down(stored)).Spec.Targets; !slices.Equal(got, stored.Spec.Targets) {
			t.Errorf("%+v", got)
		}
	}
}
