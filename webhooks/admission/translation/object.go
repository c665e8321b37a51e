// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Version is the one that fields are translated to. The rules are about v1.
const Version = "v1alpha1"

// Object is an object that was written at v1alpha1.
type Object struct {
	kind   string
	stored map[string]any // at v1
}

// New returns an Object of its data at v1, which the rules validated. With nil, fewer paths are known.
func New(kind string, stored map[string]any) *Object {
	return &Object{kind: kind, stored: stored}
}

// Read returns an Object of its JSON at v1.
func Read(kind string, stored []byte) *Object {
	o := New(kind, nil)
	_ = json.Unmarshal(stored, &o.stored) // the rules have read it; without it fewer paths are known
	return o
}

// Error returns an error of a v1 field with the path that v1alpha1 has for it. Where v1alpha1 has no such field,
// the message names the one of v1.
func (o *Object) Error(err *field.Error) *field.Error {
	own := *err
	if own.Field != "<nil>" {
		at := o.Field(err.Field)
		own.Field, own.Detail = at.Path, strings.TrimPrefix(own.Detail+at.aside(), " ")
		if v := reflect.ValueOf(own.BadValue); own.Field != err.Field && v.IsValid() && v.IsZero() {
			own.BadValue = field.OmitValueType{} // it is empty at v1 alone
		}
	}
	return &own
}

// Warning returns a warning, which begins with the path of a v1 field, with the path that v1alpha1 has for it.
func (o *Object) Warning(warning string) string {
	path, text, ok := strings.Cut(warning, ": ")
	if written, alpha := strings.CutPrefix(path, Version+" "); alpha && ok {
		return written + ": " + text // of what conversion keeps for v1alpha1
	}
	if !ok || strings.Contains(path, " ") {
		return warning
	}
	at := o.Field(path)
	return at.Path + ": " + text + at.aside()
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

// aside returns the text that names the field of v1, and where to set it.
func (f Field) aside() string {
	if f.Exact() {
		return ""
	}
	return fmt.Sprintf(" (%s of v1: %s cannot express it and keeps it in annotation %s, so set it at v1)", f.Stored, Version,
		common.ConversionDataAnnotation)
}

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
	case known && best.rest == keep:
		return Field{Path: to + rest}
	case known && best.rest == exact && rest == "":
		return Field{Path: to}
	}
	return Field{Path: cmp.Or(to, "spec"), Stored: path}
}

// match reports whether a path begins with a pattern, and returns what is behind it and the indexes that
// "[*]" stands for.
func match(path, pattern string) (rest string, indexes []int, ok bool) {
	for {
		part, more, starred := strings.Cut(pattern, "[*]")
		path, ok = strings.CutPrefix(path, part)
		if !ok {
			return "", nil, false
		}
		if !starred {
			return path, indexes, path == "" || path[0] == '.' || path[0] == '['
		}
		inside, behind, closed := strings.Cut(path, "]")
		number, open := strings.CutPrefix(inside, "[")
		i, err := strconv.Atoi(number)
		if !closed || !open || err != nil || i < 0 {
			return "", nil, false
		}
		indexes = append(indexes, i)
		path, pattern = behind, more
	}
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

// within reports whether a path is another, or leads inside of it.
func within(path, above string) bool {
	inside, ok := strings.CutPrefix(path, above)
	return ok && (inside == "" || inside[0] == '.' || inside[0] == '[')
}
