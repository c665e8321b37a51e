// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

func TestTheReferenceListsEveryFlagWithItsDefaultAndNoOther(t *testing.T) {
	reference := read(t, "docs/reference/configuration.md")
	if !strings.Contains(reference, "`--config`") {
		t.Error("--config is not documented")
	}
	documented, declared := map[string]string{}, map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `[^`]+` \\| `--([a-z0-9-]+)`(?:, `-[a-z]`)? \\| ([^|]*)\\|").FindAllStringSubmatch(reference, -1) {
		value := strings.NewReplacer("`", "", ": ", "=", ", ", ",").Replace(strings.TrimSpace(row[2]))
		if took, err := time.ParseDuration(value); err == nil {
			value = took.String() // however it is written
		}
		documented[row[1]] = value
	}
	for _, group := range options.NewFlags().Groups.FlagSets {
		group.VisitAll(func(flag *pflag.Flag) {
			value := strings.Trim(flag.DefValue, "[]")
			if slices.Contains([]string{"config", "concurrency"}, flag.Name) {
				return // without a default of its own
			}
			declared[flag.Name] = value
		})
	}
	delete(documented, "concurrency")
	if diff := cmp.Diff(declared, documented); diff != "" {
		t.Errorf("flags and their defaults (-code +docs/reference/configuration.md):\n%s", diff)
	}
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
