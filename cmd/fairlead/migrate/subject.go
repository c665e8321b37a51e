// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// subject is an object while it is translated. It remembers which fields were read.
type subject struct {
	*object
	read    map[*manifest.Node]bool // with all below it
	entered map[*manifest.Node]bool
	remarks []Remark
	refused bool
}

func newSubject(o *object) *subject {
	s := &subject{object: o, read: map[*manifest.Node]bool{}, entered: map[*manifest.Node]bool{}}
	o.AllProblems(func(path string, p manifest.Problem) { s.remark(Refused, o.place.at(p.Position), path, p.Message) })
	for _, field := range []string{"name", "namespace"} {
		s.root().in("metadata", field).text() // false, where a name such as off is not in quotes
	}
	return s
}

// label is what remarks call the object.
func (s *subject) label() string { return s.key().String() }

func (s *subject) remark(e Effect, at Place, field, text string) {
	s.refused = s.refused || e == Refused
	r := Remark{Effect: e, Place: at, Object: s.label(), Field: field, Text: text}
	if !slices.Contains(s.remarks, r) {
		s.remarks = append(s.remarks, r)
	}
}

// say adds a remark about the whole object.
func (s *subject) say(e Effect, format string, values ...any) {
	s.remark(e, s.place, "", fmt.Sprintf(format, values...))
}

// cursor is a field of a subject, which need not exist.
type cursor struct {
	s    *subject
	n    *manifest.Node
	path string
	at   Place // of the field, or of the nearest one above it
}

func (s *subject) root() cursor { return cursor{s: s, n: s.Node, at: s.place} }

// in goes down by some keys.
func (c cursor) in(keys ...string) cursor {
	for _, k := range keys {
		c.enter()
		c.path = manifest.Join(c.path, k)
		if c.n = c.n.Get(k); c.n != nil {
			c.at = c.s.place.at(c.n.Position)
		}
	}
	return c
}

func (c cursor) enter() {
	if c.n != nil {
		c.s.entered[c.n] = true
	}
}

// exists reports whether the field is there, and is not null.
func (c cursor) exists() bool { return c.n != nil && (c.n.Kind != manifest.Scalar || c.n.Value != nil) }

// use marks the field, with all below it, as read.
func (c cursor) use() {
	if c.n != nil {
		c.s.read[c.n] = true
	}
}

// say adds a remark about the field, which counts as read.
func (c cursor) say(e Effect, format string, values ...any) {
	c.use()
	c.note(e, format, values...)
}

// note adds a remark about the field, of which the rest is still to be read.
func (c cursor) note(e Effect, format string, values ...any) {
	c.s.remark(e, c.at, c.path, text.WithoutCredentials(fmt.Sprintf(format, values...)))
}

// is reports whether the field is absent or has one of some values, and marks it as read if so.
func (c cursor) is(values ...string) bool {
	if !c.exists() {
		return true
	}
	if c.n.Kind != manifest.Scalar || !slices.Contains(values, fmt.Sprint(c.n.Value)) {
		return false
	}
	c.use()
	return true
}

// text returns a string.
func (c cursor) text() string {
	c.use()
	if !c.exists() {
		return ""
	}
	value, ok := c.n.Value.(string)
	if !ok {
		c.say(Refused, "must be text; put it in quotes")
	}
	return value
}

// optional returns nil for an empty text.
func optional[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}

// number returns a whole number; 0 where there is none.
func (c cursor) number() int32 {
	c.use()
	if !c.exists() {
		return 0
	}
	if number, ok := c.n.Value.(json.Number); ok {
		if value, err := strconv.ParseInt(number.String(), 10, 32); err == nil {
			return int32(value)
		}
	}
	c.say(Refused, "must be a whole number")
	return 0
}

// items returns the items of a list.
func (c cursor) items() (all []cursor) {
	c.enter()
	if !c.exists() {
		return nil
	}
	if c.n.Kind != manifest.Sequence {
		c.say(Refused, "must be a list")
	}
	for i, item := range c.n.Items {
		all = append(all, cursor{c.s, item, fmt.Sprintf("%s[%d]", c.path, i), c.s.place.at(item.Position)})
	}
	return all
}

// members returns the members of a mapping, and their keys.
func (c cursor) members() (all []cursor, keys []string) {
	c.enter()
	if !c.exists() {
		return nil, nil
	}
	if c.n.Kind != manifest.Mapping {
		c.say(Refused, "must be a mapping")
	}
	for i := range c.n.Members {
		m := &c.n.Members[i]
		all = append(all, cursor{c.s, m.Value, manifest.Join(c.path, m.Key), c.s.place.at(m.Position)})
		keys = append(keys, m.Key)
	}
	return all, keys
}

// isZero reports whether a scalar is what an absent field means too.
func (c cursor) isZero() bool {
	return slices.Contains([]any{nil, "", false, json.Number("0")}, c.n.Value)
}

// rest names each field that was not read as one that was not carried over.
func (c cursor) rest(text string) {
	switch {
	case !c.exists() || c.s.read[c.n]:
	case !c.s.entered[c.n] || c.n.Kind == manifest.Scalar:
		if len(c.n.Members)+len(c.n.Items) > 0 || c.n.Kind == manifest.Scalar && !c.isZero() {
			c.say(Lost, "%s", text)
		}
	case c.n.Kind == manifest.Mapping:
		members, _ := c.members()
		for _, m := range members {
			m.rest(text)
		}
	default:
		for _, item := range c.items() {
			item.rest(text)
		}
	}
}
