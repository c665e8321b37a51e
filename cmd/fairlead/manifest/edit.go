// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// edit returns the text of a YAML document with another value. With expand, anchors, aliases and merge keys are
// written out. Whether the text has the value is left to the caller.
func (d *Document) edit(to *Node, expand bool) ([]byte, []Note, error) {
	text := bytes.TrimPrefix(d.text, bom)
	mark, crlf := d.text[:len(d.text)-len(text)], bytes.Contains(text, []byte("\r\n"))
	head, body, tail := frame(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	body = afterBracket.ReplaceAll(body, []byte("$1\n$2"))
	document, err := decodeDocument(yaml.NewDecoder(bytes.NewReader(body)))
	if err != nil || len(document.Content) == 0 {
		return nil, nil, errors.Join(err, errUnwritable)
	}
	w := writer{removed: map[string][]*Node{}, placed: map[*yaml.Node]bool{}}
	comments := w.comments(document)
	step, compact := indentation(body)
	keepBlankLines(document, strings.Split(string(body), "\n"))
	b := builder{above: d.line - 1 + bytes.Count(head, []byte("\n")), expand: expand}
	root := b.node(document.Content[0], 0)
	document.Content[0] = w.node(root.merge(to), place{})
	written, err := encode(document, step, compact)
	if lost := lostComments(comments, written); err == nil && len(lost) > 0 {
		w.notes = append(w.notes, Note{root.Line, "comments of the document were moved above it: their place is gone"})
		document.HeadComment = joinComments(document.HeadComment, strings.Join(lost, "\n"))
		written, err = encode(document, step, compact)
	}
	if err != nil {
		return nil, nil, err
	}
	if !bytes.HasSuffix(body, []byte("\n")) {
		written = bytes.TrimSuffix(written, []byte("\n"))
	}
	if bytes.HasSuffix(head, []byte("---")) { // the value began on the line of the marker
		written = slices.Concat([]byte("\n"), written)
	}
	written = slices.Concat(head, written, tail)
	if crlf {
		written = bytes.ReplaceAll(written, []byte("\n"), []byte("\r\n"))
	}
	before, after := countAnchors(d.Root.layout, map[string]int{}), countAnchors(document, map[string]int{})
	return slices.Concat(mark, written), append(w.notes, d.lostAnchors(d.Root.layout, before, after)...), nil
}

// frame cuts a document into the lines up to its first marker, its value, and the lines from its last marker.
func frame(text []byte) (head, body, tail []byte) {
	at, begin, end := 0, 0, len(text)
	for line := range bytes.Lines(text) {
		switch {
		case marker(line, "---") && head == nil && significant(line[len("---"):]):
			begin = at + len("---")
			head = text[:begin]
		case marker(line, "---") && head == nil:
			begin = at + len(line)
			head = text[:begin]
		case marker(line, "..."):
			end = at
		}
		at += len(line)
	}
	return head, text[begin:max(begin, end)], text[max(begin, end):]
}

var (
	firstIndent = regexp.MustCompile(`(?m)^( +)[^\s#-]`)
	firstDash   = regexp.MustCompile(`(?m)^( *)[^\s#-].*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*( *)- `)
)

// indentation returns how a document is indented, from the first lines that show it: the step of a mapping, and
// whether the items of a sequence begin below its key.
func indentation(body []byte) (step int, compact bool) {
	step, compact = 2, true
	if found := firstIndent.FindSubmatch(body); found != nil {
		step = min(max(len(found[1]), 2), 8)
	}
	if found := firstDash.FindSubmatch(body); found != nil {
		compact = len(found[1]) == len(found[2])
	}
	return step, compact
}

// keepBlankLines makes the blank line before an entry a part of its comment, since the library has none.
func keepBlankLines(n *yaml.Node, lines []string) {
	for i, child := range n.Content {
		if n.Style&yaml.FlowStyle == 0 && (n.Kind == yaml.SequenceNode || i%2 == 0) {
			above := child.Line - 2
			if child.HeadComment != "" {
				above -= strings.Count(child.HeadComment, "\n") + 1
			}
			if i > 0 && above >= 0 && strings.TrimSpace(lines[above]) == "" {
				child.HeadComment = "\n" + child.HeadComment
			}
		}
		keepBlankLines(child, lines)
	}
}

// afterBracket is a comment that the library does not read.
var afterBracket = regexp.MustCompile(`(?m)([\[{])[ \t]+(#.*)$`)

// indentedBlank is a blank line that the library indents, which it never does within a scalar.
var indentedBlank = regexp.MustCompile(`(?m)^ +$`)

func encode(n *yaml.Node, step int, compact bool) (text []byte, err error) {
	defer recovered(&err)
	settleComments(n)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(step)
	if compact {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	err = encoder.Close()
	return indentedBlank.ReplaceAll(out.Bytes(), nil), err
}

// settleComments moves the comment after a key whose value does not begin below it: the library would write it after
// the next field, or the value below it.
func settleComments(n *yaml.Node) {
	for i, child := range n.Content {
		settleComments(child)
		if n.Kind != yaml.MappingNode || i%2 == 0 || len(child.Content) > 0 && child.Style&yaml.FlowStyle == 0 {
			continue
		}
		if key := n.Content[i-1]; child.LineComment == "" {
			child.LineComment, key.LineComment = key.LineComment, ""
		} else {
			key.HeadComment, key.LineComment = joinComments(key.HeadComment, key.LineComment), ""
		}
	}
}
