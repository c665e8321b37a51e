// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package specimen

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Options of a Breeder.
type Options struct {
	// Schema is the OpenAPI schema of the version, as the definition has it. Required.
	Schema map[string]any
	// Good are objects that break no rule. Required.
	Good []map[string]any
	// Values are worth trying at a field of that name: what else than its limits a rule is about.
	Values map[string][]any
	// Changes is the most changes that an object gets. Default 4.
	Changes int
	// Wild is how many of 100 values are drawn without regard for the limits. Default 25.
	Wild int
}

// Breeder makes objects. It is safe for use by many goroutines.
type Breeder struct{ options Options }

// New makes a breeder.
func New(o Options) *Breeder {
	if o.Changes == 0 {
		o.Changes = 4
	}
	if o.Wild == 0 {
		o.Wild = 25
	}
	return &Breeder{o}
}

// Object makes one from a good one.
func (b *Breeder) Object(c *Choices) map[string]any {
	return b.Change(c, pick(c, b.options.Good))
}

// Change returns a copy of an object that is changed at up to that many places, or nowhere.
func (b *Breeder) Change(c *Choices, obj map[string]any) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	for range c.Of(b.options.Changes + 1) {
		b.change(c, obj)
	}
	return obj
}

// change changes one place of the spec: any value of it is as likely as any other.
func (b *Breeder) change(c *Choices, obj map[string]any) {
	spec, _ := b.options.Schema["properties"].(map[string]any)["spec"].(map[string]any)
	var all []site
	collect(&all, site{holder: obj, key: "spec", schema: spec})
	if c.percent(3) {
		name, _ := obj["metadata"].(map[string]any)
		name["name"] = pick(c, []any{"n", strings.Repeat("n", 52), strings.Repeat("n", 53)})
		return
	}
	s := pick(c, all)
	switch value := s.get().(type) {
	case []any:
		s.set(b.list(c, s.name, value, s.schema))
	case map[string]any:
		b.fields(c, value, s.schema)
	default:
		if s.removable() && c.percent(20) {
			s.remove()
			return
		}
		s.set(b.scalar(c, s.name, s.schema))
	}
}

// list takes an item away, adds one, or doubles one.
func (b *Breeder) list(c *Choices, name string, list []any, schema map[string]any) []any {
	items, _ := schema["items"].(map[string]any)
	switch n := len(list); {
	case n > 0 && c.percent(30):
		return slices.Delete(slices.Clone(list), c.Of(n), n)
	case n > 0 && c.percent(15):
		return append(slices.Clone(list), runtime.DeepCopyJSONValue(pick(c, list)))
	case n > 0 && c.percent(3):
		most, _ := schema["maxItems"].(int64)
		for int64(len(list)) <= most && len(list) < 110 {
			list = append(list, runtime.DeepCopyJSONValue(list[0]))
		}
		return list
	}
	return append(slices.Clone(list), b.value(c, name, items, 0))
}

// fields takes a field away, or adds one that is not there.
func (b *Breeder) fields(c *Choices, fields, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		values, _ := schema["additionalProperties"].(map[string]any)
		fields[pick(c, []string{"a", "app.kubernetes.io/name", "x.kubernetes.io/y", strings.Repeat("k", 63)})] = b.scalar(c, "", values)
		return
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(name string) bool { return name == "template" && fields[name] == nil })
	name := pick(c, names)
	child, _ := properties[name].(map[string]any)
	required, _ := schema["required"].([]any)
	switch _, there := fields[name]; {
	case there && slices.Contains(required, any(name)) && !c.percent(b.options.Wild):
	case there:
		delete(fields, name)
	default:
		fields[name] = b.value(c, name, child, 0)
	}
}
