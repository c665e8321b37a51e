// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	kjson "sigs.k8s.io/json"
)

// tree is a JSON object. Numbers are json.Number, so that none loses a digit.
type tree map[string]any

var errNoObject = errors.New("not a JSON object")

func parseTree(raw []byte) (tree, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var t tree
	if err := decoder.Decode(&t); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errNoObject
	}
	return t, nil
}

// decode reads what fits into a form. The decoder continues after a value of the wrong type, so that the
// other fields are read; covers finds what was not read, and the annotation keeps it.
func decode[F any](t tree) F {
	var form F
	_ = kjson.UnmarshalCaseSensitivePreserveInts(marshal(t), &form) // see covers
	return form
}

// encode writes a form as a body, without empty parts and without nulls: a nil list would be one, and a
// schema refuses that with a message that does not help.
func encode[F any](form F) tree {
	t, err := parseTree(marshal(form))
	if err != nil {
		return tree{}
	}
	t = withoutNulls(map[string]any(t)).(map[string]any) //nolint:errcheck,forcetypeassert // of an object comes an object
	if status, ok := t["status"].(map[string]any); ok && len(status) == 0 {
		delete(t, "status")
	}
	return t
}

// marshal writes v without escaping for HTML. It cannot fail, since the forms are structs and the trees were
// JSON before. If it did, the part would be absent.
func marshal(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// digest returns the digest of a body.
func (t tree) digest() string { return digest(marshal(map[string]any(t))) }

func (t tree) shallow() tree { return maps.Clone(t) }

// set sets a part, or deletes it where value is nil.
func (t tree) set(key string, value any) {
	if value == nil {
		delete(t, key)
		return
	}
	t[key] = value
}

// at returns the value at a path.
func (t tree) at(path []string) (any, bool) {
	var value any = map[string]any(t)
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// with returns a copy with a value at a path; parents that are no objects are replaced.
func (t tree) with(path []string, value any) tree {
	return rewritten(t, path, func(parent map[string]any, key string) { parent[key] = value })
}

// without returns a copy without the value at a path.
func (t tree) without(path []string) tree {
	return rewritten(t, path, func(parent map[string]any, key string) { delete(parent, key) })
}

// rewritten returns a copy of the objects along a path, of which edit changes the last.
func rewritten(t map[string]any, path []string, edit func(parent map[string]any, key string)) tree {
	out := maps.Clone(t)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		edit(out, path[0])
		return out
	}
	child, _ := out[path[0]].(map[string]any)
	out[path[0]] = map[string]any(rewritten(child, path[1:], edit))
	return out
}

// equal compares two JSON values; a null member equals an absent one.
func equal(a, b any) bool { return covers(a, b) && covers(b, a) }

// covers reports whether typed has every value of raw, and possibly others. A null counts as absent: the API
// server prunes it.
func covers(typed, raw any) bool {
	switch raw := raw.(type) {
	case nil:
		return true
	case map[string]any:
		object, ok := typed.(map[string]any)
		return ok && coversMembers(object, raw)
	case []any:
		list, ok := typed.([]any)
		return ok && slices.EqualFunc(list, raw, func(mine, value any) bool {
			return (mine == nil) == (value == nil) && covers(mine, value)
		})
	case json.Number:
		number, ok := typed.(json.Number)
		return ok && sameNumber(number, raw)
	default:
		return typed == raw
	}
}

func coversMembers(typed, raw map[string]any) bool {
	for key, value := range raw {
		if mine, has := typed[key]; value != nil && (!has || !covers(mine, value)) {
			return false
		}
	}
	return true
}

// sameNumber compares two numbers by value, so that 5 and 5.0 agree. Integers that a float cannot
// hold are compared by their digits.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	_, errA := a.Int64()
	_, errB := b.Int64()
	if errA == nil && errB == nil {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// keepUnknown adds to the new value the fields of the saved one that its type does not know: those that saved
// has and typed does not. Items of lists are matched by name, or else by index where no item was added or
// removed.
func keepUnknown(value, saved, typed any) any {
	switch saved := saved.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		if !ok {
			return value
		}
		known, _ := typed.(map[string]any)
		out := maps.Clone(object)
		for key, old := range saved {
			mine, has := object[key]
			switch theirs, understood := known[key]; {
			case has:
				out[key] = keepUnknown(mine, old, theirs)
			case !understood && old != nil:
				out[key] = old
			}
		}
		return out
	case []any:
		list, ok := value.([]any)
		known, _ := typed.([]any)
		if !ok || len(known) != len(saved) {
			return value
		}
		out, byName := make([]any, len(list)), indexByName(saved)
		for i, item := range list {
			out[i] = item
			if j := savedIndex(item, i, len(list) == len(saved), byName); j >= 0 {
				out[i] = keepUnknown(item, saved[j], known[j])
			}
		}
		return out
	}
	return value
}

// savedIndex returns the index of the saved item that corresponds to an item, or -1. The index i counts where
// sameLength says that no item was added or removed.
func savedIndex(item any, i int, sameLength bool, byName map[string]int) int {
	name, named := nameOf(item)
	if j, has := byName[name]; named && has {
		return j
	}
	if !named && sameLength {
		return i
	}
	return -1
}

// indexByName returns the index of the first item of each name. A list may be as long as a request: a search
// for each item would take minutes.
func indexByName(list []any) map[string]int {
	indexes := make(map[string]int, len(list))
	for i, item := range list {
		name, named := nameOf(item)
		if _, has := indexes[name]; named && !has {
			indexes[name] = i
		}
	}
	return indexes
}

func nameOf(item any) (string, bool) {
	object, _ := item.(map[string]any)
	name, ok := object["name"].(string)
	return name, ok
}

// withoutNulls returns the value without null members, at any depth.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			if member != nil {
				out[key] = withoutNulls(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = withoutNulls(item)
		}
		return out
	}
	return value
}
