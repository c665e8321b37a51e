// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/api/common"
)

func TestAnAnnotationDeclaresWhatAWorkloadNeeds(t *testing.T) {
	const annotation = "annotation fairlead.dev/depends-on"
	malformed := func(item string) string {
		return fmt.Sprintf("%s: %q is not externalservice/ and the name of an ExternalService", annotation, item)
	}
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf("db-%02d", i))
	}
	declared := func(names []string) string { return "externalservice/" + strings.Join(names, ",externalservice/") }
	for name, test := range map[string]struct {
		value   string
		want    []string
		mistake string
	}{
		"one":                {"externalservice/billing-db", []string{"billing-db"}, ""},
		"several, in spaces": {" externalservice/b , externalservice/a\n", []string{"b", "a"}, ""},
		"one twice":          {"externalservice/a,externalservice/a", []string{"a"}, ""},
		"as many as may be":  {declared(many[:32]), many[:32], ""},
		"one too many":       {declared(many), many[:32], annotation + " names more than 32 ExternalServices: the rest is ignored"},
		"nothing":            {"", nil, malformed("")},
		"a comma at the end": {"externalservice/a,", []string{"a"}, malformed("")},
		"only a name":        {"billing-db", nil, malformed("billing-db")},
		"another kind":       {"service/billing-db,externalservice/a", []string{"a"}, malformed("service/billing-db")},
		"another namespace":  {"externalservice/bank/db", nil, malformed("externalservice/bank/db")},
		"no name":            {"externalservice/", nil, malformed("externalservice/")},
		"no DNS label":       {"externalservice/a.b", nil, malformed("externalservice/a.b")},
		"lines":              {"externalservice/a\nReady: true", nil, malformed("externalservice/a\nReady: true")},
		"two mistakes":       {"x,y", nil, malformed("x")},
		"too long":           {strings.Repeat(",", 4097), nil, annotation + " is ignored: it has 4097 bytes, and the limit is 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			got, mistake := Dependencies(map[string]string{common.DependsOnAnnotation: test.value})
			if diff := cmp.Diff(test.want, got); diff != "" || mistake != test.mistake {
				t.Errorf("%q, %s", mistake, diff)
			}
			if strings.Contains(mistake, "\n") || len(mistake) > 250 {
				t.Errorf("a sentence in a condition has one line and is short: %q", mistake)
			}
		})
	}
	if got, mistake := Dependencies(map[string]string{"other": "x"}); got != nil || mistake != "" {
		t.Errorf("without the annotation: %q, %q", got, mistake)
	}
	if _, mistake := Dependencies(map[string]string{common.DependsOnAnnotation: strings.Repeat("\x00", 4096)}); len(mistake) > 500 {
		t.Errorf("%d bytes", len(mistake))
	}
}
