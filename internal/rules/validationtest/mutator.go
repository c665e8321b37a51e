// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// maxChanges is the most changes that an object gets.
const maxChanges = 4

// MutatorOptions of a Mutator.
type MutatorOptions struct {
	// Schema is the OpenAPI schema of the version, as the CRD has it. Required.
	Schema map[string]any
	// Good are objects that break no rule. Required.
	Good []map[string]any
	// Values are worth trying at a field of that name: what else than its limits a rule is about.
	Values map[string][]any
	// OutOfBounds is how many of 100 values are drawn without regard for the limits. Defaults to 25.
	OutOfBounds int
}

// Mutator makes objects of a kind: good ones, changed at a few places. It is safe for use by many
// goroutines.
type Mutator struct{ options MutatorOptions }

// NewMutator makes a mutator.
func NewMutator(o MutatorOptions) *Mutator {
	if o.OutOfBounds == 0 {
		o.OutOfBounds = 25
	}
	return &Mutator{options: o}
}

// Object makes one from a good one.
func (m *Mutator) Object(c *Choices) map[string]any {
	return m.Mutate(c, pick(c, m.options.Good))
}

// Mutate returns a copy of an object that is changed at up to that many places, or nowhere.
func (m *Mutator) Mutate(c *Choices, obj map[string]any) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	for range c.Of(maxChanges + 1) {
		m.change(c, obj)
	}
	return obj
}

// change changes one place of the spec: any value of it is as likely as any other.
func (m *Mutator) change(c *Choices, obj map[string]any) {
	spec, _ := m.options.Schema["properties"].(map[string]any)["spec"].(map[string]any)
	var all []location
	collect(&all, location{holder: obj, key: "spec", schema: spec})
	if c.percent(3) {
		name, _ := obj["metadata"].(map[string]any)
		name["name"] = pick(c, []any{"n", strings.Repeat("n", 52), strings.Repeat("n", 53)})
		return
	}
	at := pick(c, all)
	switch value := at.get().(type) {
	case []any:
		at.set(m.list(c, at.name, value, at.schema))
	case map[string]any:
		m.fields(c, value, at.schema)
	default:
		if at.removable() && c.percent(20) {
			at.remove()
			return
		}
		at.set(m.scalar(c, at.name, at.schema))
	}
}

// list takes an item away, adds one, or doubles one.
func (m *Mutator) list(c *Choices, name string, list []any, schema map[string]any) []any {
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
	return append(slices.Clone(list), m.value(c, name, items, 0))
}

// fields takes a field away, or adds one that is not there.
func (m *Mutator) fields(c *Choices, fields, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		values, _ := schema["additionalProperties"].(map[string]any)
		fields[pick(c, []string{"a", "app.kubernetes.io/name", "x.kubernetes.io/y", strings.Repeat("k", 63)})] = m.scalar(c, "", values)
		return
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)),
		func(name string) bool { return name == "template" && fields[name] == nil })
	name := pick(c, names)
	child, _ := properties[name].(map[string]any)
	required, _ := schema["required"].([]any)
	switch _, there := fields[name]; {
	case there && slices.Contains(required, any(name)) && !c.percent(m.options.OutOfBounds):
	case there:
		delete(fields, name)
	default:
		fields[name] = m.value(c, name, child, 0)
	}
}

// location is a value in an object, and how it is reached.
type location struct {
	holder any // map[string]any or []any
	key    string
	index  int
	name   string // of the field that holds it, for a list's item as well
	schema map[string]any
}

func (l location) get() any {
	if list, ok := l.holder.([]any); ok {
		return list[l.index]
	}
	fields, _ := l.holder.(map[string]any)
	return fields[l.key]
}

func (l location) set(value any) {
	if list, ok := l.holder.([]any); ok {
		list[l.index] = value
		return
	}
	fields, _ := l.holder.(map[string]any)
	fields[l.key] = value
}

// removable reports whether the value is of a field, and no item of a list.
func (l location) removable() bool {
	_, ok := l.holder.(map[string]any)
	return ok
}

func (l location) remove() {
	fields, _ := l.holder.(map[string]any)
	delete(fields, l.key)
}

// collect finds all values at and below one, except inside of pod templates, whose schema is not
// ours.
func collect(all *[]location, l location) {
	if l.schema == nil || l.key == "template" {
		return
	}
	*all = append(*all, l)
	switch value := l.get().(type) {
	case map[string]any:
		properties, _ := l.schema["properties"].(map[string]any)
		values, _ := l.schema["additionalProperties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			child, ok := properties[name].(map[string]any)
			if !ok {
				child = values
			}
			collect(all, location{holder: value, key: name, name: name, schema: child})
		}
	case []any:
		items, _ := l.schema["items"].(map[string]any)
		for i := range value {
			collect(all, location{holder: value, index: i, name: l.name, schema: items})
		}
	}
}
