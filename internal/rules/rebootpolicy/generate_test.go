// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// The values that generated objects are made of: on both sides of every limit.
var (
	someDurations = []any{"0s", "1ms", "500ms", "1s", "5s", "6s", "59s", "1m", "599s", "10m", "15m", "168h", "169h", "9999999h", "1d", "1.5h", "-1s", "1h1h1h1h1h", "5", ""}
	someCounts    = []any{int64(-2), int64(-1), int64(0), int64(1), int64(50), int64(101), int64(70000), "0%", "100%", "101%", "1", "%"}
	someTexts     = []any{"", "a", "apps", "Deployment", "Local", "local", "0 0 * * *", "TZ=UTC 0 0 * * *", "CRON_TZ=UTC 0 0 * * *", "/path", strings.Repeat("n", 64)}
)

// generate makes an object from a good one: it leaves out much, and spoils some of the rest. Where
// it is given a rule, it leaves out nothing, and spoils the place that the rule is about.
func generate(random *rand.Rand, good []map[string]any, schema map[string]any, about *rule) map[string]any {
	if about != nil {
		obj := runtime.DeepCopyJSON(good[0])
		for range 1 + random.IntN(2) {
			obj = spoil(random, obj, good[0], schema, about)
		}
		if about.path == "" {
			obj["metadata"].(map[string]any)["name"] = strings.Repeat("n", 50+random.IntN(5))
		}
		return obj
	}
	obj := runtime.DeepCopyJSON(good[random.IntN(len(good))])
	for range random.IntN(6) {
		if s, ok := pick(random, obj, schema, nil); ok && optional(obj, s) {
			obj = put(obj, s.at, nil)
		}
	}
	for range random.IntN(3) {
		obj = spoil(random, obj, good[0], schema, nil)
	}
	return obj
}

// pick returns a random place in the spec, or one that the rule is about; there may be none.
func pick(random *rand.Rand, obj, schema map[string]any, about *rule) (site, bool) {
	sites := objectSites(nil, obj, schema)[2:]
	if about != nil {
		sites = slices.DeleteFunc(sites, func(s site) bool {
			rest, below := strings.CutPrefix(s.path(), about.path)
			return !below || strings.Count(rest, ".") > 1
		})
	}
	if len(sites) == 0 {
		return site{}, false
	}
	return sites[random.IntN(len(sites))], true
}

// optional reports whether the place may go without breaking the schema for want of it.
func optional(obj map[string]any, s site) bool {
	list, inList := get(obj, s.at[:len(s.at)-1]).([]any)
	return !inList || len(list) > 1
}

// spoil changes one place of the object.
func spoil(random *rand.Rand, obj, full, schema map[string]any, about *rule) map[string]any {
	s, ok := pick(random, obj, schema, about)
	if !ok {
		return obj
	}
	value := get(obj, s.at)
	switch value := value.(type) {
	case []any:
		if len(value) > 0 && random.IntN(2) == 0 {
			return put(obj, s.at, append(slices.Clone(value), runtime.DeepCopyJSONValue(value[random.IntN(len(value))])))
		}
		return put(obj, s.at, nil)
	case map[string]any:
		return graft(random, obj, full, schema, s)
	case string, int64:
		enum, _ := s.schema["enum"].([]any)
		switch {
		case len(enum) > 0:
			return put(obj, s.at, enum[random.IntN(len(enum))])
		case s.schema["x-kubernetes-int-or-string"] == true:
			return put(obj, s.at, someCounts[random.IntN(len(someCounts))])
		case s.schema["type"] == "integer":
			return put(obj, s.at, someCounts[random.IntN(6)])
		case spans(s.schema):
			return put(obj, s.at, someDurations[random.IntN(len(someDurations))])
		}
		return put(obj, s.at, someTexts[random.IntN(len(someTexts))])
	}
	return obj
}

// graft gives a place a member that its like has elsewhere in the full object, such as a second
// handler to a probe, or a selector to a target with a name.
func graft(random *rand.Rand, obj, full, schema map[string]any, s site) map[string]any {
	donors := slices.DeleteFunc(objectSites(nil, full, schema), func(d site) bool {
		return len(d.at) != len(s.at)+1 || (site{at: d.at[:len(s.at)]}).path() != s.path()
	})
	if len(donors) == 0 {
		return obj
	}
	donor := donors[random.IntN(len(donors))]
	member := append(slices.Clone(s.at), donor.at[len(donor.at)-1])
	return put(obj, member, runtime.DeepCopyJSONValue(get(full, donor.at)))
}
