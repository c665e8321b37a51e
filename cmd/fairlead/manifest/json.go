// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"strings"
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
		values = append(values, Reading{Root: root})
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

// formatJSON writes a node like an example: on one line, or indented as it is there.
func formatJSON(n *Node, example []byte) ([]byte, error) {
	var out bytes.Buffer
	n.writeJSON(&out)
	indent, many := indentation(example)
	if !many {
		return out.Bytes(), nil
	}
	value := jsontext.Value(out.Bytes())
	if err := value.Indent(jsontext.WithIndent(indent), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	if bytes.Contains(example, []byte("\r\n")) {
		value = bytes.ReplaceAll(value, []byte("\n"), []byte("\r\n"))
	}
	return value, nil
}

// indentation returns one step of the indentation of a JSON text, and whether it has several lines.
func indentation(text []byte) (string, bool) {
	_, rest, many := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if !many {
		return "", false
	}
	indent := string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))])
	if strings.Trim(indent, " ") != "" && strings.Trim(indent, "\t") != "" || indent == "" {
		indent = "  "
	}
	return indent, true
}
