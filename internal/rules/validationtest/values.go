// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// durations lie on both sides of what rules say of spans of time.
var durations = []any{"10m", "5s", "1s", "30s", "1m", "1h", "15m", "24h", "0s", "1ms", "999ms", "59s900ms", "9s999ms", "10s",
	"599s", "168h", "0s10000ms", "1h1h1h1h", "99999h99999h",
	"168h1ms", "169h", "99999h", "100000h", "1h1h1h1h1h", "1.5h", "1d", "", "-1s", "5", "1.s", ".5s", "1e3s",
	"00000000000000000000000000020m", "000000000000000000000000000020m"}

// counts are integers and percentages.
var counts = []any{int64(1), "50%", int64(0), "0%", "100%", int64(7), "99%", int64(-1), "101%", "05%", "1", "%", "", "5 %", "100000%"}

// value makes a whole value of a schema, mostly within its limits.
func (m *Mutator) value(c *Choices, name string, schema map[string]any, depth int) any {
	switch schema["type"] {
	case "object":
		made := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, field := range slices.Sorted(maps.Keys(properties)) {
			child, _ := properties[field].(map[string]any)
			if slices.Contains(required, any(field)) || depth < 3 && field != "template" && c.percent(25) {
				made[field] = m.value(c, field, child, depth+1)
			}
		}
		if values, ok := schema["additionalProperties"].(map[string]any); ok {
			made["app"] = m.scalar(c, "", values)
		}
		return made
	case "array":
		items, _ := schema["items"].(map[string]any)
		least, _ := schema["minItems"].(int64)
		made := []any{}
		for range int(least) + c.Of(2) {
			made = append(made, m.value(c, name, items, depth+1))
		}
		return made
	}
	return m.scalar(c, name, schema)
}

// scalar makes a value of a schema that holds no others. One value of the options' own is as likely
// as all that the limits suggest.
func (m *Mutator) scalar(c *Choices, name string, schema map[string]any) any {
	wild := c.percent(m.options.OutOfBounds)
	options := m.limits(schema, wild)
	if own := m.options.Values[name]; len(own) > 0 && c.percent(60) {
		options = own
	}
	if !wild && len(options) > 8 {
		options = options[:8]
	}
	return runtime.DeepCopyJSONValue(pick(c, options))
}

// limits are values within, and where it is wild beyond, the limits of a schema.
func (m *Mutator) limits(schema map[string]any, wild bool) []any {
	if schema["x-kubernetes-int-or-string"] == true {
		return counts
	}
	if enum, _ := schema["enum"].([]any); len(enum) > 0 {
		if wild {
			return append(slices.Clone(enum), "Other", "")
		}
		return enum
	}
	switch schema["type"] {
	case "boolean":
		return []any{true, false}
	case "integer":
		return numbers(schema, wild)
	}
	if pattern, _ := schema["pattern"].(string); strings.Contains(pattern, "(ms|s|m|h)") {
		return durations
	}
	if schema["format"] == "date-time" {
		return []any{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00+02:00"}
	}
	return texts(schema, wild)
}

func numbers(schema map[string]any, wild bool) []any {
	least, bounded := schema["minimum"].(int64)
	most, capped := schema["maximum"].(int64)
	if !capped {
		most = 1 << 30
	}
	values := []any{least, most, (least + most) / 2, least + 1}
	if wild && bounded {
		values = append(values, least-1)
	}
	if wild && capped {
		values = append(values, most+1)
	}
	return values
}

func texts(schema map[string]any, wild bool) []any {
	least, _ := schema["minLength"].(int64)
	most, capped := schema["maxLength"].(int64)
	values := []any{"a", "web", strings.Repeat("a", int(max(least, 1)))}
	if capped {
		values = append(values, strings.Repeat("a", int(most)), strings.Repeat("7", int(most)))
	}
	if wild {
		values = append(values, strings.Repeat("a", int(max(least-1, 0))), "Ä b", "-a", "a-", "TZ=UTC 0 0 * * *", "lOcAl")
		if capped {
			values = append(values, strings.Repeat("a", int(most)+1), strings.Repeat("ä", int(most)), strings.Repeat("ä", int(most)+1))
		}
	}
	return values
}
