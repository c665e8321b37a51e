// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonindex

import (
	"fmt"
	"strings"
	"sync"
)

const (
	// maxDepth is how deep JSON may be nested, as in encoding/json.
	maxDepth = 10_000
	// maxTokens bounds what is kept about one text, at 16 bytes each, and what it becomes in memory, which
	// is ten times that. It is so many, and one for each bytesPerToken bytes: objects have one for ten. No object that an
	// API server can hold may exceed it, since one that does not convert makes every LIST of its version fail: a template
	// may have one for two bytes in 64 KiB, and labels have one for four and a half.
	maxTokens     = 1 << 16
	bytesPerToken = 4
	// maxPooledTokens is above what reviews of ordinary objects have.
	maxPooledTokens = 1 << 16
)

// Document is a JSON text that has been read once: it is checked, and it is known where every value begins and ends.
// Finding or skipping a value takes the same time however long the value is.
type Document struct {
	json   []byte
	tokens []token
	texts  arena // that were asked for
}

// token is a value, or the name of a member. An object's members follow it, each name before its
// value, and so do a list's items.
type token struct {
	begin, end int32 // in the JSON
	next       int32 // the token after this value and all that is in it
	size       int32 // members or items; of a string, 1 where there are escapes in it
}

var documents sync.Pool

// NewDocument returns an empty document. The caller calls Release when no Value of it is used any more.
func NewDocument() *Document {
	if d, ok := documents.Get().(*Document); ok {
		return d
	}
	return new(Document)
}

// Release returns the document to a pool, without its references to the bytes of a caller.
func (d *Document) Release() {
	if cap(d.tokens) > maxPooledTokens {
		return
	}
	d.json, d.tokens, d.texts = nil, d.tokens[:0], arena{}
	documents.Put(d)
}

// Read reads one JSON value, and returns it. It does not report a name that is twice in an object. The JSON must not
// change as long as the document is used.
func (d *Document) Read(json []byte) (Value, error) {
	i := indexer{json: json, tokens: d.tokens[:0]}
	err := i.read()
	d.json, d.tokens = json, i.tokens
	if err != nil {
		d.json = nil
		return Value{}, err
	}
	return Value{doc: d}, nil
}

func (i *indexer) read() error {
	if len(i.json) > 1<<30 {
		return fmt.Errorf("%d bytes of JSON are more than can be read", len(i.json))
	}
	at := i.value(i.space(0), 0)
	if at >= 0 {
		if at = i.space(at); at < len(i.json) {
			return fmt.Errorf("there is more after the end of the JSON, at byte %d", at)
		}
		return nil
	}
	switch at = i.failed; {
	case i.reason != "":
		return fmt.Errorf("%s at byte %d", i.reason, at)
	case at >= len(i.json):
		return fmt.Errorf("unexpected EOF: the JSON ends at byte %d within a value", at)
	}
	return fmt.Errorf("invalid character %q at byte %d", i.json[at], at)
}

// Pages of memory, in bytes, are as large as the JSON that is read, within these bounds.
const leastPage, mostPage = 64, 1024

// arena keeps texts next to each other, as one piece of memory for each would cost more than its
// content. What of them is kept keeps its page.
type arena struct{ page strings.Builder }

// keep copies a text; size is that of the JSON that has it.
func (a *arena) keep(text []byte, size int) string {
	size = min(max(size, leastPage), mostPage)
	begin := a.page.Len()
	if a.page.Cap()-begin < len(text) {
		if len(text) > size/4 {
			return string(text)
		}
		a.page, begin = strings.Builder{}, 0
		a.page.Grow(size)
	}
	a.page.Write(text) // never fails
	return a.page.String()[begin:]
}
