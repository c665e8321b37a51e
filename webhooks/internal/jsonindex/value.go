// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonindex

import (
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a part of a Document. The zero Value is none: it has neither bytes nor parts.
type Value struct {
	doc *Document
	at  int32 // among the tokens
}

// Exists reports whether there is a value, be it null.
func (v Value) Exists() bool { return v.doc != nil }

func (v Value) token() *token { return &v.doc.tokens[v.at] }

// Kind is the first byte of the value: one of { [ " t f n, or what a number begins with; 0 for none.
func (v Value) Kind() byte {
	if v.doc == nil {
		return 0
	}
	return v.doc.json[v.token().begin]
}

// Bytes are those of the value, a part of the document; nil for none.
func (v Value) Bytes() []byte {
	if v.doc == nil {
		return nil
	}
	t := v.token()
	return v.doc.json[t.begin:t.end:t.end]
}

// Len is how many members an object has, or items a list; 0 for anything else.
func (v Value) Len() int {
	if kind := v.Kind(); kind == '{' || kind == '[' {
		return int(v.token().size)
	}
	return 0
}

// Values is how many values and names are in the value, with itself; 0 for none.
func (v Value) Values() int {
	if v.doc == nil {
		return 0
	}
	return int(v.token().next - v.at)
}

// Plain returns the content of a string that has no escapes, a part of the document; ok is false for
// anything else.
func (v Value) Plain() (content []byte, ok bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	t := v.token()
	return v.doc.json[t.begin+1 : t.end-1 : t.end-1], t.size == 0
}

// Text returns the content of a string; ok is false where the value is no string. The texts of a document
// share memory.
func (v Value) Text() (text string, ok bool) {
	if v.Kind() != '"' {
		return "", false
	}
	if content, ok := v.Plain(); ok {
		return v.Keep(content), true
	}
	return string(v.content()), true
}

// Keep copies a text, such as the name of a member, to where the texts of the value's document are.
func (v Value) Keep(text []byte) string {
	return v.doc.texts.keep(text, len(v.doc.json))
}

// TextOrEmpty is Text; "" where the value is no string.
func (v Value) TextOrEmpty() string {
	text, _ := v.Text()
	return text
}

// EqualsText reports whether the value is a string with this content.
func (v Value) EqualsText(text string) bool {
	return v.Kind() == '"' && string(v.content()) == text
}

// Fields ranges over the members of an object, in their order, names without
// their quotes; over none where it is no object.
func (v Value) Fields() iter.Seq2[[]byte, Value] {
	return func(yield func(name []byte, value Value) bool) {
		if v.Kind() != '{' {
			return
		}
		for at, end := v.at+1, v.token().next; at < end; {
			name := Value{v.doc, at}
			if !yield(name.content(), Value{v.doc, at + 1}) {
				return
			}
			at = v.doc.tokens[at+1].next
		}
	}
}

// content is the content of a string.
func (v Value) content() []byte {
	if content, ok := v.Plain(); ok {
		return content
	}
	text, _ := jsontext.AppendUnquote([]byte{}, v.Bytes()) // which the indexer has checked
	return text
}

// Elements ranges over the items of a list; over none where it is no list.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}
		for at, end := v.at+1, v.token().next; at < end; at = v.doc.tokens[at].next {
			if !yield(Value{v.doc, at}) {
				return
			}
		}
	}
}

// Field returns the member of a name, the last one where there are several; none where there is none.
func (v Value) Field(name string) (found Value) {
	for other, value := range v.Fields() {
		if string(other) == name {
			found = value
		}
	}
	return found
}

// IsDocument reports whether the value is all of its document.
func (v Value) IsDocument() bool { return v.at == 0 }

// Pointer is where the value is in its document, as a JSON pointer (RFC 6901); "" is all of it. It takes time
// in proportion to what comes before the value: only errors call it.
func (v Value) Pointer() string {
	var pointer strings.Builder
	for within := (Value{doc: v.doc}); within.at != v.at; {
		name, part := within.partAround(v.at)
		pointer.WriteString("/" + escapePointer.Replace(name))
		within = part
	}
	return pointer.String()
}

// partAround returns the part of a value that is, or has in it, the token at hand.
func (v Value) partAround(at int32) (name string, part Value) {
	n := 0
	for item := range v.Elements() {
		if at < v.doc.tokens[item.at].next {
			return strconv.Itoa(n), item
		}
		n++
	}
	for name, value := range v.Fields() {
		if at < v.doc.tokens[value.at].next {
			return string(name), value
		}
	}
	return "", Value{v.doc, at}
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")
