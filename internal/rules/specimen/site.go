// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package specimen

import (
	"maps"
	"slices"
)

// site is a value in an object, and how it is reached.
type site struct {
	holder any // map[string]any or []any
	key    string
	index  int
	name   string // of the field that holds it, for a list's item as well
	schema map[string]any
}

func (s site) get() any {
	if list, ok := s.holder.([]any); ok {
		return list[s.index]
	}
	fields, _ := s.holder.(map[string]any)
	return fields[s.key]
}

func (s site) set(value any) {
	if list, ok := s.holder.([]any); ok {
		list[s.index] = value
		return
	}
	fields, _ := s.holder.(map[string]any)
	fields[s.key] = value
}

// removable says that the value is a field's.
func (s site) removable() bool {
	_, ok := s.holder.(map[string]any)
	return ok
}

func (s site) remove() {
	fields, _ := s.holder.(map[string]any)
	delete(fields, s.key)
}

// collect finds all values at and below one, but for the inside of pod templates, whose schema is not
// ours.
func collect(all *[]site, s site) {
	if s.schema == nil || s.key == "template" {
		return
	}
	*all = append(*all, s)
	switch value := s.get().(type) {
	case map[string]any:
		properties, _ := s.schema["properties"].(map[string]any)
		values, _ := s.schema["additionalProperties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			child, ok := properties[name].(map[string]any)
			if !ok {
				child = values
			}
			collect(all, site{holder: value, key: name, name: name, schema: child})
		}
	case []any:
		items, _ := s.schema["items"].(map[string]any)
		for i := range value {
			collect(all, site{holder: value, index: i, name: s.name, schema: items})
		}
	}
}
