// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxParts bounds the documents of one text.
const maxParts = 20_000

var bom = []byte("\xef\xbb\xbf")

// ErrTooLarge is the error of a document that exceeds the limit.
var ErrTooLarge = errors.New("too large")

// Part is one document of a text, with everything before and after it: the parts of a text, one after the
// other, are the text.
type Part struct {
	Text []byte
	Line int // of its first byte in the text, from 1
}

// Splitter cuts a stream into its documents. A line that begins with --- or ... is a marker everywhere,
// also within a block scalar (YAML 1.2, 9.1.2), and JSON has no such line. Documents are read one by one,
// so that an error in one hides none of the others.
type Splitter struct {
	from  *bufio.Reader
	limit int
	line  int    // the next one to read
	next  []byte // a marker that was read, and begins the next part
	done  bool
}

// NewSplitter returns a Splitter of a stream. A part may have limit bytes.
func NewSplitter(from io.Reader, limit int) *Splitter {
	return &Splitter{from: bufio.NewReaderSize(from, 64<<10), limit: limit, line: 1}
}

// Next returns the next part, or io.EOF. It may be Empty.
func (s *Splitter) Next() (Part, error) {
	if s.done && len(s.next) == 0 {
		return Part{}, io.EOF
	}
	part := Part{Text: s.next, Line: s.line}
	var content, directive bool // what the part has so far
	if len(s.next) > 0 {
		part.Line--
		content = significant(s.next[len("---"):])
		s.next = nil
	}
	for !s.done {
		begin := len(part.Text)
		if err := s.read(&part); err != nil {
			s.done = true
			return Part{}, err
		}
		line := part.Text[begin:]
		if s.line == 2 {
			line = bytes.TrimPrefix(line, bom)
		}
		switch {
		case marker(line, "---") && begin > 0 && (content || !directive):
			s.next = bytes.Clone(line)
			part.Text = part.Text[:len(part.Text)-len(line)]
			return part, nil
		case marker(line, "---"):
			content, directive = significant(line[len("---"):]), false
		case marker(line, "..."):
			return part, nil
		case !content && len(line) > 0 && line[0] == '%':
			directive = true
		default:
			content = content || significant(line)
		}
	}
	if len(part.Text) == 0 {
		return Part{}, io.EOF
	}
	return part, nil
}

// read adds one line to a part.
func (s *Splitter) read(part *Part) error {
	for {
		piece, err := s.from.ReadSlice('\n')
		if len(part.Text)+len(piece) > s.limit {
			return fmt.Errorf("line %d: the document is %w: at most %d bytes are read", part.body().Line, ErrTooLarge, s.limit)
		}
		part.Text = append(part.Text, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			s.done = true
		case err != nil:
			return err
		}
		s.line++
		return nil
	}
}

// Split cuts a text into its documents, and consecutive JSON objects into parts of their own. It fails
// where the text cannot be a manifest, or holds more than maxParts documents.
func Split(text []byte) ([]Part, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, errors.New("the text is UTF-16; save it as UTF-8")
	}
	var parts []Part
	for splitter := NewSplitter(bytes.NewReader(text), len(text)); ; {
		part, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		if parts = append(parts, part.values()...); len(parts) > maxParts {
			return nil, fmt.Errorf("more than %d documents", maxParts)
		}
	}
}

// values cuts a part into its JSON objects. Anything else stays one part.
func (p Part) values() []Part {
	body := p.body()
	if trimmed := bytes.TrimLeft(body.Text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return []Part{p}
	}
	var parts []Part
	decoder := jsontext.NewDecoder(bytes.NewReader(body.Text))
	start, line, before := 0, p.Line, len(p.Text)-len(body.Text)
	for {
		err := decoder.SkipValue()
		switch {
		case errors.Is(err, io.EOF):
			last := &parts[len(parts)-1]
			last.Text = p.Text[start-len(last.Text):]
			return parts
		case err != nil || len(parts) > maxParts:
			return []Part{p}
		}
		end := before + int(decoder.InputOffset())
		parts = append(parts, Part{Text: p.Text[start:end:end], Line: line})
		line += bytes.Count(p.Text[start:end], []byte("\n"))
		start = end
	}
}

// Empty reports whether a part has nothing but markers, comments and directives.
func (p Part) Empty() bool {
	for line := range bytes.Lines(bytes.TrimPrefix(p.Text, bom)) {
		if marker(line, "---") || marker(line, "...") {
			line = line[len("---"):]
		}
		if significant(line) && line[0] != '%' {
			return false
		}
	}
	return true
}

// body returns a part without the byte order mark and the marker that it begins with, unless content
// follows on the marker's own line.
func (p Part) body() Part {
	p.Text = bytes.TrimPrefix(p.Text, bom)
	if !marker(p.Text, "---") {
		return p
	}
	line, rest, _ := bytes.Cut(p.Text, []byte("\n"))
	if significant(line[len("---"):]) {
		return p
	}
	return Part{Text: rest, Line: p.Line + 1}
}

func marker(line []byte, sign string) bool {
	rest, has := bytes.CutPrefix(line, []byte(sign))
	return has && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// significant reports whether a line is neither blank nor a comment.
func significant(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#'
}
