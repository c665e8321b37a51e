// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// parseJSON reads one JSON value after another.
func readJSONNodes(p Part) []Reading {
	r := nodeReader{
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

type nodeReader struct {
	text    []byte
	above   int   // lines of the file above the part
	ends    []int // where the lines end
	decoder *jsontext.Decoder
}

var errTooDeep = fmt.Errorf("values nest deeper than %d", maxNesting)

func (r *nodeReader) value(depth int) (*Node, error) {
	if depth > maxNesting {
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
	n := &Node{Position: r.behind(len(raw))}
	switch raw.Kind() {
	case '"':
		n.Value, err = unquote(raw)
	case 't', 'f':
		n.Value = raw.Kind() == 't'
	case '0':
		n.Value = numeral(string(raw))
	}
	return n, err
}

func (r *nodeReader) object(depth int) (*Node, error) {
	if _, err := r.decoder.ReadToken(); err != nil {
		return nil, err
	}
	n := &Node{Position: r.behind(1), Kind: Mapping}
	seen := map[string]int{}
	for r.decoder.PeekKind() != '}' {
		raw, err := r.decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		m := Member{Position: r.behind(len(raw))}
		if m.Key, err = unquote(raw); err != nil {
			return nil, err
		}
		if m.Value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		if first, twice := seen[m.Key]; twice {
			n.Problems = append(n.Problems, Problem{Position: m.Position, Rule: "duplicate-key", Key: m.Key,
				Message: fmt.Sprintf("is given twice, first in line %d; remove one of them", n.Members[first].Line)})
			n.Members[first] = m
			continue
		}
		seen[m.Key] = len(n.Members)
		n.Members = append(n.Members, m)
	}
	_, err := r.decoder.ReadToken()
	return n, err
}

func (r *nodeReader) array(depth int) (*Node, error) {
	if _, err := r.decoder.ReadToken(); err != nil {
		return nil, err
	}
	n := &Node{Position: r.behind(1), Kind: Sequence}
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

func numeral(text string) any {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole
	}
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		return value
	}
	return text // beyond every number that there is
}

// behind returns where what was just read begins, given its length.
func (r *nodeReader) behind(length int) Position {
	return r.position(int(r.decoder.InputOffset()) - length)
}

func (r *nodeReader) position(offset int) Position {
	offset = max(0, min(offset, len(r.text)))
	line := sort.SearchInts(r.ends, offset)
	begin := 0
	if line > 0 {
		begin = r.ends[line-1] + 1
	}
	return Position{r.above + line + 1, utf8.RuneCount(r.text[begin:offset]) + 1}
}

func (r *nodeReader) problem(err error) *Problem {
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
