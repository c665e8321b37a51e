// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"

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

// decode reads what fits into a form. The decoder goes on behind a value of the wrong type, so
// one mistyped field costs no other; what was not read is kept by covers and the annotation.
func decode[F any](t tree) F {
	var form F
	_ = kjson.UnmarshalCaseSensitivePreserveInts(marshal(t), &form) // covers finds what did not fit
	return form
}

// encode writes a form as a body. Empty parts are as good as none, and nulls are left out: a nil
// list would otherwise be one, and a schema refuses that in words that do not help.
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

// marshal writes v without escaping for HTML. The forms are structs and the trees were JSON
// before, so it cannot fail; were it to, the empty answer reads as an absent part.
func marshal(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// digest names the content of a body.
func (t tree) digest() string { return digest(marshal(map[string]any(t))) }

func (t tree) shallow() tree { return maps.Clone(t) }

// set puts a part in place, or takes it away where value is nil.
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

// with returns a copy that holds value at a path; parents that are no objects are replaced.
func (t tree) with(path []string, value any) tree {
	return rewrite(t, path, func(parent map[string]any, key string) { parent[key] = value })
}

// without returns a copy that lacks the value at a path.
func (t tree) without(path []string) tree {
	return rewrite(t, path, func(parent map[string]any, key string) { delete(parent, key) })
}

// rewrite copies the objects along a path, and lets edit change the last of them.
func rewrite(t map[string]any, path []string, edit func(parent map[string]any, key string)) tree {
	out := maps.Clone(t)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		edit(out, path[0])
		return out
	}
	child, _ := out[path[0]].(map[string]any)
	out[path[0]] = map[string]any(rewrite(child, path[1:], edit))
	return out
}
