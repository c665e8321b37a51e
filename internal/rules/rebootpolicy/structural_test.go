// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

var seed = flag.Uint64("seed", 1, "seed of the generated objects")

var index = regexp.MustCompile(`\[[^\]]*\]`)

// at reports whether an error stands at a path, in the schema's notation, or below it.
func at(err *field.Error, path string) bool {
	where := index.ReplaceAllString(err.Field, "[*]")
	return path == "" || where == path || strings.HasPrefix(where, path+".") || strings.HasPrefix(where, path+"[")
}

func TestTheDefinitionAndStructuralAcceptGoodObjectsAndRefuseBadOnes(t *testing.T) {
	kind := validationtest.Definition(t, group, resource)
	for file, wanted := range map[string]bool{"testdata/good.yaml": true, "testdata/bad.yaml": false} {
		for _, obj := range validationtest.Objects(t, file) {
			byCRD, byGo := validate(t, kind, typed(t, obj))
			if (len(byCRD) == 0) != wanted || (len(byGo) == 0) != wanted {
				t.Errorf("%s: %v: CRD says %v, Go says %v", file, obj["metadata"], byCRD, byGo)
			}
		}
	}
}

func TestGoodObjectHoldsEveryFieldOfTheSchema(t *testing.T) {
	held := map[string]bool{}
	schema := specSchema(t)
	for _, s := range objectSites(nil, validationtest.Objects(t, "testdata/good.yaml")[0], schema) {
		held[s.path()] = true
	}
	for _, s := range schemaSites(nil, schema) {
		if path := s.path(); !held[path] && !strings.HasSuffix(path, "matchLabels[*]") {
			t.Errorf("testdata/good.yaml has no %s: the tests of its limits would test nothing", path)
		}
	}
}

func TestStructuralRepeatsEveryLimitOfTheSchema(t *testing.T) {
	kind, good := validationtest.Definition(t, group, resource), validationtest.Objects(t, "testdata/good.yaml")[0]
	tried := map[string]int{}
	for _, s := range objectSites(nil, good, specSchema(t)) {
		for _, l := range bounds(s.schema, get(good, s.at)) {
			for _, value := range l.beyond {
				demandRefused(t, kind, good, s, l.keyword, value)
				tried[l.keyword]++
			}
			for _, value := range l.within {
				byCRD, byGo := validate(t, kind, typed(t, put(good, s.at, value)))
				if (len(byCRD) == 0) != (len(byGo) == 0) {
					t.Errorf("%s: %v is within %s\nCRD  %v\nGo   %v", s.path(), value, l.keyword, byCRD, byGo)
				}
			}
		}
	}
	for _, keyword := range []string{"maxLength", "minLength", "minimum", "maximum", "enum", "maxItems", "minItems",
		"maxProperties", "x-kubernetes-list-type"} {
		if tried[keyword] == 0 {
			t.Errorf("no limit of kind %s was found in the schema: the walk is broken", keyword)
		}
	}
}

// demandRefused demands that Go and the CRD refuse a value beyond a limit, and that Go names its field.
func demandRefused(t *testing.T, kind *crdschema.Kind, good map[string]any, s site, keyword string, value any) {
	t.Helper()
	obj := typed(t, put(good, s.at, value))
	byCRD, byGo := validate(t, kind, obj)
	// An empty value may be as good as none once it is typed; then both need only agree.
	lost := !reflect.DeepEqual(get(validationtest.Untyped(t, obj), s.at), value)
	if (len(byCRD) == 0) != (len(byGo) == 0) || len(byCRD) == 0 && !lost {
		t.Errorf("%s: %v is beyond %s\nCRD  %v\nGo   %v", s.path(), value, keyword, byCRD, byGo)
	}
	if len(byCRD) > 0 && !says(byGo, s.path()) && !lost {
		t.Errorf("%s: %v is beyond %s, and Go names other fields: %v", s.path(), value, keyword, byGo)
	}
}

func says(errs field.ErrorList, path string) bool {
	for _, err := range errs {
		if at(err, path) {
			return true
		}
	}
	return false
}

// rule is a CEL rule by its place and its message.
type rule struct{ path, message string }

func TestGeneratedObjectsBreakAndKeepEveryRuleInBoth(t *testing.T) {
	t.Logf("seed %d (repeat with -seed)", *seed)
	kind, schema, good := validationtest.Definition(t, group, resource), specSchema(t), validationtest.Objects(t, "testdata/good.yaml")
	broken, kept := map[rule]int{}, map[rule]int{}
	rules := map[rule]bool{{"", "name must be at most 52 characters"}: true}
	for _, s := range schemaSites(nil, schema) {
		for _, message := range messages(s.schema) {
			rules[rule{s.path(), message}] = true
		}
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	verdict := map[bool]int{}
	ordered := slices.SortedFunc(maps.Keys(rules), func(a, b rule) int { return cmp.Compare(a.path+a.message, b.path+b.message) })
	for i := range 4200 {
		var about *rule
		if i%2 == 0 {
			about = &ordered[i/2%len(ordered)]
		}
		tree := generate(random, good, schema, about)
		obj := typed(t, tree)
		byCRD, byGo := validate(t, kind, obj)
		if (len(byCRD) == 0) != (len(byGo) == 0) {
			t.Fatalf("seed %d: they differ\n%v\nCRD  %v\nGo   %v", *seed, tree["spec"], byCRD, byGo)
		}
		verdict[len(byCRD) == 0]++
		count(validationtest.Untyped(t, obj), schema, byCRD, rules, broken, kept)
	}
	t.Logf("%d valid, %d broken", verdict[true], verdict[false])
	for r := range rules {
		if broken[r] == 0 || kept[r] == 0 {
			t.Errorf("rule %q at %q was broken %d times and kept %d times: generate both", r.message, r.path, broken[r], kept[r])
		}
	}
}

func messages(schema map[string]any) []string {
	var out []string
	validations, _ := schema["x-kubernetes-validations"].([]any)
	for _, v := range validations {
		out = append(out, fmt.Sprint(v.(map[string]any)["message"]))
	}
	return out
}

// count notes which rules the object breaks, by the CRD's word, and, in an object that the CRD
// accepts, which it keeps.
func count(tree, schema map[string]any, byCRD field.ErrorList, rules map[rule]bool, broken, kept map[rule]int) {
	for r := range rules {
		for _, err := range byCRD {
			if strings.Contains(err.Detail, r.message) && at(err, r.path) {
				broken[r]++
				break
			}
		}
	}
	if len(byCRD) > 0 {
		return
	}
	for _, s := range objectSites(nil, tree, schema) {
		for _, message := range messages(s.schema) {
			kept[rule{s.path(), message}]++
		}
	}
}
