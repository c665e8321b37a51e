// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// tree is a value with its order, and the style it was written in.
type tree struct {
	kind    jsontext.Kind // '{', '[' or 0 for a scalar
	names   []string
	members map[string]*tree
	items   []*tree
	scalar  any        // string, bool, json.Number or nil
	node    *yaml.Node // as it stands in the text, if it does
	line    int
}

// build orders a value that stands nowhere yet.
func build(value any, order *Order) *tree {
	switch value := value.(type) {
	case map[string]any:
		out := &tree{kind: '{', members: make(map[string]*tree, len(value))}
		out.names = order.arrange(nil, slices.Collect(maps.Keys(value)))
		for name, member := range value {
			out.members[name] = build(member, order.member(name))
		}
		return out
	case []any:
		out := &tree{kind: '['}
		for i, item := range value {
			out.items = append(out.items, build(item, order.element(i)))
		}
		return out
	}
	return &tree{scalar: value}
}

// merge returns the tree of a new value, in the order and style of the old one where it stays.
func (t *tree) merge(value any, order *Order) *tree {
	switch value := value.(type) {
	case map[string]any:
		if t.kind != '{' {
			break
		}
		out := &tree{kind: '{', members: make(map[string]*tree, len(value)), node: t.node}
		var kept, added []string
		for _, name := range t.names {
			if _, has := value[name]; has {
				kept = append(kept, name)
			}
		}
		for name, member := range value {
			if old, has := t.members[name]; has {
				out.members[name] = old.merge(member, order.member(name))
				continue
			}
			added = append(added, name)
			out.members[name] = build(member, order.member(name))
		}
		out.names = order.arrange(kept, added)
		return out
	case []any:
		if t.kind != '[' || len(t.items) != len(value) {
			break
		}
		out := &tree{kind: '[', node: t.node}
		for i, item := range value {
			out.items = append(out.items, t.items[i].merge(item, order.element(i)))
		}
		return out
	default:
		if t.kind == 0 && reflect.DeepEqual(t.scalar, value) {
			return t
		}
	}
	return build(value, order)
}

func (t *tree) value() any {
	switch t.kind {
	case '{':
		out := make(map[string]any, len(t.names))
		for name, member := range t.members {
			out[name] = member.value()
		}
		return out
	case '[':
		out := make([]any, 0, len(t.items))
		for _, item := range t.items {
			out = append(out, item.value())
		}
		return out
	}
	return t.scalar
}

// json writes the tree on one line.
func (t *tree) json(out *bytes.Buffer) {
	switch t.kind {
	case '{':
		out.WriteByte('{')
		for i, name := range t.names {
			if i > 0 {
				out.WriteByte(',')
			}
			scalar(out, name)
			out.WriteByte(':')
			t.members[name].json(out)
		}
		out.WriteByte('}')
	case '[':
		out.WriteByte('[')
		for i, item := range t.items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.json(out)
		}
		out.WriteByte(']')
	default:
		scalar(out, t.scalar)
	}
}

func scalar(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) == nil {
		out.Truncate(out.Len() - 1) // the line end
	}
}
