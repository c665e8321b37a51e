// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

var index = regexp.MustCompile(`\[[^\]]*\]`)

// says finds an error at a path or below it, whose text holds the message.
func says(errs field.ErrorList, path, message string) bool {
	for _, err := range errs {
		at := index.ReplaceAllString(err.Field, "[*]")
		if (path == "(root)" || at == path || strings.HasPrefix(at, path+".")) && strings.Contains(err.Error(), message) {
			return true
		}
	}
	return false
}

func TestTheDefinitionAndStructuralAcceptGoodObjectsAndRefuseBadOnes(t *testing.T) {
	kind := validationtest.Definition(t, group, resource)
	for file, wanted := range map[string]bool{"testdata/good.yaml": true, "testdata/bad.yaml": false} {
		for _, obj := range validationtest.Objects(t, file) {
			byCRD, byGo := validate(t, kind, obj, nil)
			if (len(byCRD) == 0) != wanted || (len(byGo) == 0) != wanted {
				t.Errorf("%s: %v: CRD says %v, Go says %v", file, obj["metadata"], byCRD, byGo)
			}
		}
	}
}

func TestStructuralRepeatsEveryCELRule(t *testing.T) {
	kind, good := validationtest.Definition(t, group, resource), validationtest.Objects(t, "testdata/good.yaml")
	tried := map[string]bool{}
	for _, c := range celCases {
		tried[c.rule] = true
		path, message, _ := strings.Cut(c.rule, ": ")
		broken, kept := good[c.base], good[c.base]
		for _, change := range c.broke {
			broken = place(t, broken, change.path, change.value)
		}
		for _, change := range c.keep {
			kept = place(t, kept, change.path, change.value)
		}
		if byCRD, byGo := validate(t, kind, broken, nil); !says(byCRD, path, message) || !says(byGo, path, message) {
			t.Errorf("%s: %v: want the rule broken\nCRD  %v\nGo   %v", c.rule, c.broke, byCRD, byGo)
		}
		if byCRD, byGo := validate(t, kind, kept, nil); len(byCRD)+len(byGo) > 0 {
			t.Errorf("%s: %v: want the rule kept\nCRD  %v\nGo   %v", c.rule, c.keep, byCRD, byGo)
		}
	}
	for _, c := range transitionCases {
		tried[c.rule] = true
		path, message, _ := strings.Cut(c.rule, ": ")
		obj := place(t, good[c.to], "metadata.name", "same")
		old := place(t, good[c.from], "metadata.name", "same")
		byCRD, byGo := validate(t, kind, obj, old)
		if says(byCRD, path, message) != c.refused || says(byGo, path, message) != c.refused {
			t.Errorf("%s: from %d to %d: want refused %t\nCRD  %v\nGo   %v", c.rule, c.from, c.to, c.refused, byCRD, byGo)
		}
	}
	if diff := cmp.Diff(celRules(t), tried); diff != "" {
		t.Errorf("the rules of the CRD, and those that a case breaks (-CRD +cases):\n%s", diff)
	}
}

// celRules returns the CEL rules of the CRD, each with its place.
func celRules(t *testing.T) map[string]bool {
	t.Helper()
	rules := map[string]bool{}
	walk("", validationtest.Schema(t, group, resource, "v1"), func(path string, node map[string]any) {
		validations, _ := node["x-kubernetes-validations"].([]any)
		for _, v := range validations {
			at := strings.ReplaceAll(path, ".0", "[*]")
			if at == "" {
				at = "(root)"
			}
			rules[fmt.Sprintf("%s: %s", at, v.(map[string]any)["message"])] = true
		}
	})
	return rules
}

func TestStructuralRepeatsEveryLimitOfTheSchema(t *testing.T) {
	kind, good := validationtest.Definition(t, group, resource), validationtest.Objects(t, "testdata/good.yaml")
	limits := constraints(t)
	if len(limits) < 50 {
		t.Fatalf("found %d limits in the schema: the walk is broken", len(limits))
	}
	for _, limit := range limits {
		base := baseFor(t, good, limit)
		// Go may name the object around what is missing, as CEL rules do.
		at := strings.ReplaceAll(strings.ReplaceAll(limit.path, ".0", "[*]"), ".*", "[*]")
		if limit.keyword == "required" {
			at = at[:max(0, strings.LastIndex(at, "."))]
		}
		if at == "" {
			at = "spec"
		}
		byCRD, byGo := validate(t, kind, place(t, base, limit.path, limit.beyond), nil)
		if len(byCRD) == 0 || !says(byGo, at, "") {
			t.Errorf("%s %s: %v is beyond it\nCRD  %v\nGo   %v", limit.path, limit.keyword, limit.beyond, byCRD, byGo)
		}
		for _, value := range limit.within {
			byCRD, byGo := validate(t, kind, place(t, base, limit.path, value), nil)
			if (len(byCRD) == 0) != (len(byGo) == 0) {
				t.Errorf("%s %s: %v is within it\nCRD  %v\nGo   %v", limit.path, limit.keyword, value, byCRD, byGo)
			}
		}
	}
}

func TestSpansBeyondGoAreRefusedByTheDefinitionAndStructural(t *testing.T) {
	kind, good := validationtest.Definition(t, group, resource), validationtest.Objects(t, "testdata/good.yaml")
	for path, base := range map[string]int{"spec.schedule.interval": selector, "spec.windows.0.duration": workload, "spec.blackouts.0.duration": workload} {
		byCRD, byGo := validate(t, kind, place(t, good[base], path, "9999999h"), nil)
		if len(byCRD) == 0 || len(byGo) == 0 {
			t.Errorf("%s: CRD %v, Go %v", path, byCRD, byGo)
		}
	}
}

func baseFor(t *testing.T, good []map[string]any, limit constraint) map[string]any {
	t.Helper()
	for _, obj := range good {
		if has(obj, limit.path) {
			return obj
		}
	}
	t.Fatalf("no good object sets %s", limit.path)
	return nil
}

func TestStructuralAgreesOnMutationsOfEveryRule(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	kind, good := validationtest.Definition(t, group, resource), validationtest.Objects(t, "testdata/good.yaml")
	limits := constraints(t)
	verdict := map[bool]int{}
	for range 1500 {
		obj := good[random.IntN(len(good))]
		var done []string
		for range random.IntN(4) {
			path, value := mutation(random, limits)
			if !fits(obj, path, value) {
				continue
			}
			obj = place(t, obj, path, value)
			done = append(done, fmt.Sprintf("%s=%v", path, value))
		}
		var old map[string]any
		if random.IntN(2) == 0 {
			old = good[random.IntN(len(good))]
			obj = place(t, obj, "metadata.name", old["metadata"].(map[string]any)["name"])
		}
		byCRD, byGo := validate(t, kind, obj, old)
		if (len(byCRD) == 0) != (len(byGo) == 0) {
			t.Errorf("seed %d: %v on %v\nCRD  %v\nGo   %v", seed, done, obj, byCRD, byGo)
		}
		verdict[len(byCRD) == 0]++
	}
	if verdict[true] < 150 || verdict[false] < 150 {
		t.Errorf("%d accepted and %d refused: the generator is one-sided", verdict[true], verdict[false])
	}
}

// fits reports whether a value can be placed: what grows, or lies within a list or a map, must be there
// already, and the parts that every object has stay.
func fits(obj map[string]any, path string, value any) bool {
	switch _, sized := value.(int); {
	case path == "spec" || path == "spec.target" || path == "spec.schedule":
		return false
	case sized || strings.Contains(path, "*") || strings.Contains(path, ".0"):
		return has(obj, path)
	}
	return true
}

// mutation draws a value at a limit, on either side of it, or a change of a CEL case.
func mutation(random *rand.Rand, limits []constraint) (string, any) {
	if random.IntN(2) == 0 {
		c := celCases[random.IntN(len(celCases))]
		changes := append(append([]change{}, c.keep...), c.broke...)
		chosen := changes[random.IntN(len(changes))]
		return chosen.path, chosen.value
	}
	limit := limits[random.IntN(len(limits))]
	if len(limit.within) == 0 || random.IntN(3) == 0 {
		return limit.path, limit.beyond
	}
	return limit.path, limit.within[random.IntN(len(limit.within))]
}
