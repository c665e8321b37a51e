// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"encoding/json"
	"slices"
	"strings"
)

// Version is the one that fields are translated to. The rules are about v1.
const Version = "v1alpha1"

// Object is an object that was written at v1alpha1.
type Object struct {
	kind   string
	stored map[string]any // at v1
	view   map[string]any // at v1alpha1
}

// New makes an Object of its JSON data at v1, which the rules validated, and at v1alpha1. Either may be
// nil: then less can be translated.
func New(kind string, stored, view map[string]any) *Object {
	return &Object{kind: kind, stored: stored, view: view}
}

// Converter converts objects of one kind, in JSON, to one of its versions.
type Converter interface {
	Convert(raw []byte, toVersion string) ([]byte, error)
}

// Read makes an Object of one at v1 that was written at another version. What cannot be read, or
// converted, is not there for the Object.
func Read(kind string, converter Converter, version string, stored []byte) *Object {
	o := New(kind, decode(stored), nil)
	if view, err := converter.Convert(stored, version); err == nil {
		o.view = decode(view)
	}
	return o
}

func decode(raw []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// Field is a field of v1 as the author of the object knows it.
type Field struct {
	// Path at v1alpha1: of the field itself, or of the nearest that there is.
	Path string
	// Stored is the path at v1, where v1alpha1 has no such field; else "".
	Stored string
}

// Exact reports whether v1alpha1 has the field.
func (f Field) Exact() bool { return f.Stored == "" }

// Field returns what a field of v1 is at v1alpha1.
func (o *Object) Field(path string) Field {
	if path == "spec" || !within(path, "spec") {
		return Field{Path: path} // metadata is common to all versions, and no rule is about the status
	}
	best, rest, indexes := rule{}, "", []int(nil)
	for _, r := range tables[o.kind] {
		if after, found, ok := match(path, r.from); ok && len(r.from) > len(best.from) {
			best, rest, indexes = r, after, found
		}
	}
	to, known := o.locate(best.to, indexes)
	switch {
	case best.rest == keep && known:
		return Field{Path: to + rest}
	case best.rest == whole && known, best.rest == block && rest == "" && known:
		return Field{Path: to}
	}
	if to == "" {
		to = "spec"
	}
	return Field{Path: to, Stored: path}
}

// locate fills in what is in braces. Where the object does not have it, it returns what is above,
// and false.
func (o *Object) locate(to string, indexes []int) (path string, known bool) {
	for {
		before, after, open := strings.Cut(to, "{")
		if !open {
			return to, true
		}
		name, after, _ := strings.Cut(after, "}")
		place, ok := o.place(name, indexes)
		if !ok {
			return strings.TrimSuffix(before, "."), false
		}
		to = before + place + after
	}
}

// at returns the value at names of members, one below the other.
func at(value any, names ...string) any {
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func list(value any, names ...string) []any {
	items, _ := at(value, names...).([]any)
	return items
}

func text(value any, names ...string) string {
	s, _ := at(value, names...).(string)
	return s
}

// has returns which of the members an object has, in the given order.
func has(value any, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return at(value, name) == nil })
}

// within reports whether a path is another, or leads inside of it.
func within(path, above string) bool {
	inside, ok := strings.CutPrefix(path, above)
	return ok && (inside == "" || inside[0] == '.' || inside[0] == '[')
}
