// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// readJSON reads one JSON value in its order.
func readJSON(text []byte, line int) (*tree, error) {
	r := jsonReader{decoder: jsontext.NewDecoder(bytes.NewReader(text)), text: text, line: line}
	return r.value(0)
}

type jsonReader struct {
	decoder *jsontext.Decoder
	text    []byte
	line    int // of the byte at
	at      int
	count   int
}

func (r *jsonReader) value(depth int) (*tree, error) {
	if r.count++; depth > MaxDepth || r.count > maxValues {
		return nil, errTooLarge
	}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	end := int(r.decoder.InputOffset())
	r.line += bytes.Count(r.text[r.at:end], []byte("\n"))
	r.at = end
	out := &tree{line: r.line}
	switch token.Kind() {
	case '{':
		out.kind, out.members = '{', map[string]*tree{}
		for r.decoder.PeekKind() != '}' {
			name, err := r.decoder.ReadToken()
			if err != nil {
				return nil, err
			}
			text := name.String() // before the next read takes the token away
			if out.members[text], err = r.value(depth + 1); err != nil {
				return nil, err
			}
			out.names = append(out.names, text)
		}
		_, err = r.decoder.ReadToken()
	case '[':
		out.kind = '['
		for r.decoder.PeekKind() != ']' {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		_, err = r.decoder.ReadToken()
	case '"':
		out.scalar = token.String()
	case '0':
		out.scalar = json.Number(token.String())
	case 't', 'f':
		out.scalar = token.Bool()
	case 'n':
	default:
		err = errors.New("not JSON")
	}
	return out, err
}

// writeJSON writes a tree in the form of an example: on one line, or indented as it is there.
func writeJSON(t *tree, like []byte) ([]byte, error) {
	var out bytes.Buffer
	t.json(&out)
	indent, many := indentation(like)
	if !many {
		return out.Bytes(), nil
	}
	value := jsontext.Value(out.Bytes())
	if err := value.Indent(jsontext.WithIndent(indent), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	if bytes.Contains(like, []byte("\r\n")) {
		value = bytes.ReplaceAll(value, []byte("\n"), []byte("\r\n"))
	}
	return value, nil
}

// indentation returns one step of the indentation of a JSON text, and whether it has lines at all.
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
