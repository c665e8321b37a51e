// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notOnObjects are strings of the code that look like keys, and what they are.
var notOnObjects = map[string]string{
	"fairlead.dev/manager": "the controller that Events name",
}

func TestTheReferenceListsEveryLabelAnnotationAndFinalizer(t *testing.T) {
	const page = "docs/reference/labels.md"
	declared, documented := map[string]bool{}, map[string]bool{}
	constant := regexp.MustCompile(`"((?:[a-z]+\.)?fairlead\.dev/[a-z0-9-]+)"`)
	for file, source := range files(t, []string{"api", "certs", "cmd", "controllers", "internal", "webhooks"}, ".go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range constant.FindAllStringSubmatch(source, -1) {
			if _, version, _ := strings.Cut(match[1], "/"); !strings.HasPrefix(version, "v1") || strings.Contains(version, "-") {
				declared[match[1]] = true
			}
		}
	}
	key := regexp.MustCompile(`(?m)^ *((?:[a-z]+\.)?fairlead\.dev/[a-z-]+):`)
	for _, manifest := range files(t, []string{"config/manager", "config/split", "config/default"}, ".yaml") {
		for _, match := range key.FindAllStringSubmatch(manifest, -1) {
			declared[match[1]] = true
		}
	}
	for name := range notOnObjects {
		if !declared[name] {
			t.Errorf("no code has %s", name)
		}
		delete(declared, name)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, page), -1) {
		if documented[row[1]] {
			t.Errorf("%s lists %s twice", page, row[1])
		}
		documented[row[1]] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("keys (-code +%s):\n%s", page, diff)
	}
}
