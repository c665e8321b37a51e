// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Who installs Fairlead wants to know what that puts into the cluster.
func TestTheGuideListsWhatIsInstalled(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/guides/install.md"), "\n## What is installed\n")
	section, _, _ = strings.Cut(section, "\n## ")
	kinds, seen := regexp.MustCompile(`externalservice|(cluster)?rebootpolicy|chaospod`), 0
	for file, content := range files(t, []string{"config/rbac", "config/manager", "config/webhook"}, ".yaml") {
		for document := range strings.SplitSeq(content, "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if object.Metadata.Name == "" || strings.HasSuffix(object.Kind, "Binding") {
				continue
			}
			seen++
			if name := kinds.ReplaceAllString(object.Metadata.Name, "<kind>"); !strings.Contains(section, object.Kind) || !strings.Contains(section, "`"+name+"`") {
				t.Errorf("docs/guides/install.md does not list the %s %s of %s", object.Kind, object.Metadata.Name, file)
			}
		}
	}
	if seen < 15 {
		t.Errorf("found %d objects: the search is broken", seen)
	}
}

// README.md, the guide and the chart promise no version of Kubernetes that the page on support has not.
func TestTheVersionsOfKubernetesAgree(t *testing.T) {
	var ran []string
	for _, row := range tableIn(t, "docs/reference/support.md", "## Kubernetes") {
		if !strings.HasPrefix(row[1], "no suite") {
			ran = append(ran, regexp.MustCompile(`^\d+\.\d+`).FindString(row[0]))
		}
	}
	last := len(ran) - 1
	tested := "tested with Kubernetes " + strings.Join(ran[:last], ", ") + " and " + ran[last]
	if !strings.Contains(read(t, "README.md"), tested) {
		t.Errorf("README.md does not say %q, as docs/reference/support.md does", tested)
	}
	oldest := regexp.MustCompile(`kubeVersion: ">=(\d+\.\d+)\.`).FindStringSubmatch(read(t, "charts/fairlead/Chart.yaml"))
	if oldest == nil {
		t.Fatal("the chart names no oldest version")
	}
	if !strings.Contains(read(t, "docs/guides/install.md"), "- Kubernetes "+oldest[1]+" or later.") {
		t.Errorf("docs/guides/install.md does not begin with Kubernetes %s, as the chart does", oldest[1])
	}
}

// Helm refuses a value that the chart does not have, and the reader is stuck.
// Pages write --set of Helm with a space, and --set of the operator with an equals sign.
func TestThePagesSetValuesThatTheChartHas(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "charts/fairlead/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	set, assigned := regexp.MustCompile("--set(?:-string)? ([^\\s`]+)"), regexp.MustCompile(`(?:^'?|,)([a-zA-Z][\w.]*)=`)
	seen := 0
	for file, page := range pages(t) {
		for _, argument := range set.FindAllStringSubmatch(page, -1) {
			for _, path := range assigned.FindAllStringSubmatch(argument[1], -1) {
				if seen++; !hasValue(values, strings.Split(path[1], ".")) {
					t.Errorf("%s sets %s, which the chart does not have", file, path[1])
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("found %d values: the search is broken", seen)
	}
}

// hasValue reports whether values have a path. Below an empty map any name may be.
func hasValue(values map[string]any, path []string) bool {
	if len(path) == 0 || len(values) == 0 {
		return true
	}
	below, exists := values[path[0]]
	members, is := below.(map[string]any)
	return exists && (is || len(path) == 1) && hasValue(members, path[1:])
}
