// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxParts bounds the documents of one text.
const maxParts = 20_000

var bom = []byte("\xef\xbb\xbf")

// Part is one document of a text, with all that stands before and after it: the parts of a text, one
// after the other, are the text.
type Part struct {
	Text []byte
	Line int // of its first byte in the text, from 1
}

// Split takes a text apart into its documents: YAML between lines of ---, or JSON values one after
// the other. It fails where the text cannot be a manifest, or holds more documents than anyone has.
func Split(text []byte) ([]Part, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, errors.New("the text is UTF-16; save it as UTF-8")
	}
	ends, ok := jsonEnds(text)
	if !ok {
		ends = yamlEnds(text)
	}
	if len(ends) > maxParts {
		return nil, fmt.Errorf("more than %d documents", maxParts)
	}
	parts := make([]Part, 0, len(ends))
	start, line := 0, 1
	for _, end := range ends {
		if end > start {
			parts = append(parts, Part{Text: text[start:end:end], Line: line})
			line += bytes.Count(text[start:end], []byte("\n"))
			start = end
		}
	}
	return parts, nil
}

// jsonEnds answers where each value of a stream of JSON objects ends, or false for anything else.
func jsonEnds(text []byte) (ends []int, ok bool) {
	body := bytes.TrimPrefix(text, bom)
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	skipped := len(text) - len(body)
	decoder := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		err := decoder.SkipValue()
		switch {
		case errors.Is(err, io.EOF):
			ends[len(ends)-1] = len(text)
			return ends, true
		case err != nil:
			return nil, false
		}
		ends = append(ends, skipped+int(decoder.InputOffset()))
	}
}

// yamlEnds answers where each document ends. A line that begins with --- or ... is a marker wherever
// it stands, in the middle of a text as well (YAML 1.2, 9.1.2).
func yamlEnds(text []byte) (ends []int) {
	var content, directive bool // what the document at hand has so far
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := text[at:end]
		if at == 0 {
			line = bytes.TrimPrefix(line, bom)
		}
		switch {
		case marker(line, "---"):
			if content || !directive {
				ends = append(ends, at)
			}
			content, directive = significant(line[len("---"):]), false
		case marker(line, "..."):
			ends = append(ends, end)
			content, directive = false, false
		case !content && line[0] == '%':
			directive = true
		default:
			content = content || significant(line)
		}
		at = end
	}
	return append(ends, len(text))
}

func marker(line []byte, sign string) bool {
	rest, has := bytes.CutPrefix(line, []byte(sign))
	return has && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// significant says that a line is more than blank, or a comment.
func significant(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#'
}
