// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package reloader

import (
	"strings"
	"testing"
)

// reported is a report of Ginkgo with one spec of each state, and a suite that could not begin.
const reported = `[{"SpecReports": [
	{"LeafNodeType": "It", "LeafNodeText": "reloads", "ContainerHierarchyTexts": ["A", "B"], "State": "passed"},
	{"LeafNodeType": "It", "LeafNodeText": "reloads", "LeafNodeLabels": ["argo"], "State": "passed"},
	{"LeafNodeType": "It", "LeafNodeText": "waits", "ContainerHierarchyTexts": ["A"], "ContainerHierarchyLabels": [["argo"]],
	 "State": "timedout", "Failure": {"Message": "not reloaded\nExpected true"}},
	{"LeafNodeType": "It", "LeafNodeText": "later", "State": "pending"},
	{"LeafNodeType": "It", "LeafNodeText": "csi", "State": "skipped"}]},
	{"SpecReports": [{"LeafNodeType": "SynchronizedBeforeSuite", "State": "failed", "Failure": {"Message": "Unexpected error:\n    helm\nand more"}}]}]`

func TestParse(t *testing.T) {
	result, err := parse([]byte(reported), "core")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := Write(&table, []Result{result}); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		"core           4      2       2       0s", "  of Rollouts  2      1       1", "all            4      2       2",
		"core: A: waits\n    not reloaded\n", "core: SynchronizedBeforeSuite\n    Unexpected error: helm\n",
	} {
		if !strings.Contains(table.String(), wanted) {
			t.Errorf("%q is not in\n%s", wanted, table.String())
		}
	}
	if result.Pending != 1 || result.Skipped != 1 {
		t.Errorf("%d pending, %d skipped", result.Pending, result.Skipped)
	}
	if _, err := parse([]byte(`[{"SpecReports": [{"LeafNodeType": "It", "State": "skipped"}]}]`), "core"); err == nil {
		t.Error("a suite without a spec that ran is no success")
	}
}

func TestRelease(t *testing.T) {
	for _, args := range [][]string{
		{"upgrade", "--install", "reloader-x", "charts/reloader", "--namespace", "shop", "--create-namespace", "--set", "a=b"},
		{"uninstall", "reloader-x", "--namespace", "shop", "--ignore-not-found", "--wait"},
	} {
		if r := releaseOf(args); r.name != "reloader-x" || r.namespace != "shop" {
			t.Errorf("%q: release %q in namespace %q", args, r.name, r.namespace)
		}
	}
}
