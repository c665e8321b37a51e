// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

func TestTheReferenceSaysWhatTheShippedFileSetsOtherwise(t *testing.T) {
	shipped, err := options.Load(filepath.Join(repository(t), "config/manager/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	differs := map[string]string{}
	ours, defaults := fields(t, shipped), fields(t, options.Default())
	for field, value := range ours {
		if defaults[field] != value {
			differs[field] = value
		}
	}
	documented := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` .*The shipped file has `([^`]+)`")
	for _, match := range row.FindAllStringSubmatch(read(t, "docs/reference/configuration.md"), -1) {
		documented[match[1]] = match[2]
	}
	if diff := cmp.Diff(differs, documented); diff != "" {
		t.Errorf("what differs from the defaults (-config/manager/config.yaml +docs/reference/configuration.md):\n%s", diff)
	}
}

// fields are the values of a configuration by their paths.
func fields(t *testing.T, configuration *options.Configuration) map[string]string {
	t.Helper()
	raw, err := yaml.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		if members, is := value.(map[string]any); is {
			for name, member := range members {
				walk(strings.TrimPrefix(path+"."+name, "."), member)
			}
			return
		}
		found[path] = fmt.Sprint(value)
	}
	walk("", tree)
	if len(found) < 40 {
		t.Fatalf("found %d fields: the search is broken", len(found))
	}
	return found
}

func TestTheReferenceListsEveryMetricAndNoOther(t *testing.T) {
	documented, declared := map[string]bool{}, map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(fairlead_[a-z_]+)` \\|").FindAllStringSubmatch(read(t, "docs/reference/metrics.md"), -1) {
		documented[row[1]] = true
	}
	name := regexp.MustCompile(`"(fairlead_[a-z_]+)"`)
	for _, source := range code(t) {
		for _, match := range name.FindAllStringSubmatch(source, -1) {
			declared[match[1]] = true
		}
	}
	if diff := cmp.Diff(declared, documented); diff != "" {
		t.Errorf("metrics (-code +docs/reference/metrics.md):\n%s", diff)
	}
}

// A guide that names a ClusterRole which is not there leaves its reader with a binding to nothing.
func TestThePagesNameClusterRolesThatExist(t *testing.T) {
	roles, seen := map[string]bool{}, 0
	for file, content := range files(t, []string{"config/rbac", "config/split"}, ".yaml") {
		for document := range strings.SplitSeq(content, "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			roles[role.Name] = role.Kind == "ClusterRole"
		}
	}
	named := regexp.MustCompile("--clusterrole[= ]([a-z-]+)|`((?:fairlead-)?(?:externalservice|rebootpolicy|chaospod)-(?:edit|view|editor|viewer))`")
	for file, page := range pages(t) {
		for _, match := range named.FindAllStringSubmatch(page, -1) {
			seen++
			if name := match[1] + match[2]; !roles[name] {
				t.Errorf("%s names the ClusterRole %s, which is in no manifest", file, name)
			}
		}
	}
	if seen == 0 {
		t.Error("found no ClusterRole in the pages")
	}
}

// A metric of a kind is in the section of that kind, and no other is there but those of its parts.
func TestTheReferenceHasTheMetricsOfAKindInItsSection(t *testing.T) {
	section, seen := "", 0
	row := regexp.MustCompile("^\\| `fairlead_(externalservice|rebootpolicy|chaospod)_")
	for line := range strings.Lines(read(t, "docs/reference/metrics.md")) {
		if heading, found := strings.CutPrefix(line, "## "); found {
			section = strings.ToLower(strings.TrimSpace(heading))
		}
		if match := row.FindStringSubmatch(line); match != nil {
			seen++
			if plural := strings.Replace(match[1]+"s", "ys", "ies", 1); section != plural {
				t.Errorf("docs/reference/metrics.md has under %q: %s", section, line)
			}
		}
	}
	if seen < 20 {
		t.Errorf("found %d metrics: the search is broken", seen)
	}
}
