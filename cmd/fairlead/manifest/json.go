// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// readJSON reads one JSON value after another.
func readJSON(p Part) []Reading {
	r := jsonReader{
		text:    p.Text,
		above:   p.Line - 1,
		decoder: jsontext.NewDecoder(bytes.NewReader(p.Text), jsontext.AllowDuplicateNames(true)),
	}
	for i, b := range p.Text {
		if b == '\n' {
			r.ends = append(r.ends, i)
		}
	}
	var values []Reading
	for {
		if r.decoder.PeekKind() == 0 {
			if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
				values = append(values, Reading{Err: r.problem(err)})
			}
			return values
		}
		root, err := r.value(0)
		if err != nil {
			return append(values, Reading{Err: r.problem(err)})
		}
		values = append(values, Reading{Root: root, json: true})
	}
}

type jsonReader struct {
	text    []byte
	above   int   // lines of the file above the part
	ends    []int // of the lines
	values  int
	decoder *jsontext.Decoder
}

func (r *jsonReader) value(depth int) (*Node, error) {
	if r.values++; r.values > maxValues {
		return nil, errTooMany
	}
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch r.decoder.PeekKind() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	}
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	n := &Node{Position: r.start(len(raw))}
	switch raw.Kind() {
	case '"':
		n.Value, err = unquote(raw)
	case 't', 'f':
		n.Value = raw.Kind() == 't'
	case '0':
		n.Value = json.Number(raw)
	}
	return n, err
}

func (r *jsonReader) object(depth int) (*Node, error) {
	if _, err := r.decoder.ReadToken(); err != nil {
		return nil, err
	}
	n := &Node{Position: r.start(1), Kind: Mapping}
	index := map[string]int{}
	for r.decoder.PeekKind() != '}' {
		raw, err := r.decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		m := Member{Position: r.start(len(raw))}
		if m.Key, err = unquote(raw); err != nil {
			return nil, err
		}
		if m.Value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		if first, twice := index[m.Key]; twice {
			n.Problems = append(n.Problems, duplicateKey(m, n.Members[first].Position))
		}
		n.set(index, m)
	}
	_, err := r.decoder.ReadToken()
	return n, err
}

func (r *jsonReader) array(depth int) (*Node, error) {
	if _, err := r.decoder.ReadToken(); err != nil {
		return nil, err
	}
	n := &Node{Position: r.start(1), Kind: Sequence}
	for r.decoder.PeekKind() != ']' {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.decoder.ReadToken()
	return n, err
}

func unquote(raw jsontext.Value) (string, error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err
}

// start returns the position of what was just read, given its length.
func (r *jsonReader) start(length int) Position {
	return r.position(int(r.decoder.InputOffset()) - length)
}

func (r *jsonReader) position(offset int) Position {
	offset = max(0, min(offset, len(r.text)))
	line := sort.SearchInts(r.ends, offset)
	begin := 0
	if line > 0 {
		begin = r.ends[line-1] + 1
	}
	return Position{r.above + line + 1, utf8.RuneCount(r.text[begin:offset]) + 1}
}

func (r *jsonReader) problem(err error) *Problem {
	p := &Problem{Position: r.position(int(r.decoder.InputOffset())), Rule: "syntax"}
	message := err.Error()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		p.Position = r.position(int(syntactic.ByteOffset))
		message = syntactic.Err.Error()
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		message = "it ends in the middle of a value"
	}
	p.Message = "not JSON: " + message
	return p
}

// ParseJSON returns the node of one JSON value.
func ParseJSON(raw []byte) (*Node, error) {
	values := readJSON(Part{Text: raw, Line: 1})
	switch {
	case len(values) != 1:
		return nil, errors.New("not JSON: no value, or several")
	case values[0].Err != nil:
		return nil, errors.New(values[0].Err.Message)
	}
	return values[0].Root, nil
}

// encodeJSON returns the node as JSON, in its order.
func (n *Node) encodeJSON(options ...jsontext.Options) ([]byte, error) {
	var out bytes.Buffer
	err := n.writeJSON(jsontext.NewEncoder(&out, append(options, jsontext.AllowInvalidUTF8(true))...))
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

func (n *Node) writeJSON(to *jsontext.Encoder) error {
	switch n.Kind {
	case Mapping:
		err := to.WriteToken(jsontext.BeginObject)
		for i := range n.Members {
			err = errors.Join(err, to.WriteToken(jsontext.String(n.Members[i].Key)), n.Members[i].Value.writeJSON(to))
		}
		return errors.Join(err, to.WriteToken(jsontext.EndObject))
	case Sequence:
		err := to.WriteToken(jsontext.BeginArray)
		for _, item := range n.Items {
			err = errors.Join(err, item.writeJSON(to))
		}
		return errors.Join(err, to.WriteToken(jsontext.EndArray))
	}
	raw, err := json.Marshal(n.Value)
	return errors.Join(err, to.WriteValue(raw))
}
