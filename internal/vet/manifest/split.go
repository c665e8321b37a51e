// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Chunk is the text between two document separators.
type Chunk struct {
	Text []byte
	// Line is that of the text's first line in the file.
	Line int
}

// Splitter cuts a stream into chunks at the lines that begin with "---", as kubectl does. Documents
// are read one by one, so that a fault in one hides none of the others.
type Splitter struct {
	from  *bufio.Reader
	limit int
	line  int // the next one to read
	done  bool
}

// NewSplitter reads from a stream. A chunk may have as many bytes as limit says.
func NewSplitter(from io.Reader, limit int) *Splitter {
	return &Splitter{from: bufio.NewReaderSize(from, 64<<10), limit: limit, line: 1}
}

// ErrTooLarge says that a chunk exceeds the limit.
var ErrTooLarge = errors.New("too large")

// Next answers the next chunk that has any content, or io.EOF.
func (s *Splitter) Next() (Chunk, error) {
	for !s.done {
		chunk := Chunk{Line: s.line}
		if err := s.fill(&chunk); err != nil {
			s.done = true
			return Chunk{}, err
		}
		if chunk.Line == 1 {
			chunk.Text = bytes.TrimPrefix(chunk.Text, []byte("\ufeff"))
		}
		if !empty(chunk.Text) {
			return chunk, nil
		}
	}
	return Chunk{}, io.EOF
}

// fill reads up to the next separator.
func (s *Splitter) fill(chunk *Chunk) error {
	for {
		begin := len(chunk.Text)
		for {
			piece, err := s.from.ReadSlice('\n')
			if len(chunk.Text)+len(piece) > s.limit {
				return fmt.Errorf("line %d: the document is %w: at most %d bytes are read", chunk.Line, ErrTooLarge, s.limit)
			}
			chunk.Text = append(chunk.Text, piece...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil {
				s.done = true
				if !errors.Is(err, io.EOF) {
					return err
				}
			}
			break
		}
		s.line++
		if separates(chunk.Text[begin:]) {
			chunk.Text = chunk.Text[:begin]
			return nil
		}
		if s.done {
			return nil
		}
	}
}

// separates says that a line is a separator, perhaps with a comment behind it.
func separates(line []byte) bool {
	rest, dashes := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return dashes && (len(rest) == 0 || rest[0] == '#')
}

// empty says that a text has nothing but comments, and directives of YAML.
func empty(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
