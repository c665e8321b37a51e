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

// Split takes a text apart into its documents, and values of JSON that stand one after the other into
// parts of their own. It fails where the text cannot be a manifest, or holds more documents than
// anyone has.
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

// values takes a part apart into its JSON objects. What is anything else stays one.
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
