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
	above := d.line - 1 + bytes.Count(head, []byte("\n"))
	l, err := readLayout(afterBracket.ReplaceAll(body, []byte("$1\n$2")), above, expand)
	if err != nil || !l.root.is(d.Root.Exact()) { // the bracket was in a text
		if l, err = readLayout(body, above, expand); err != nil {
			return nil, nil, err
		}
	}
	w := writer{removed: map[string][]*Node{}, placed: map[*yaml.Node]bool{}}
	document := l.document
	document.Content[0] = w.node(l.root.merge(to), place{})
	step, compact := indentation(body)
	written, err := encode(document, step, compact)
	if lost := lostComments(l.comments, written); err == nil && len(lost) > 0 {
		w.notes = append(w.notes, Note{l.root.Line, "comments of the document were moved above it: their place is gone"})
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

// layout is a document as the library reads it, with the Node of its value, and all of its comments.
type layout struct {
	document *yaml.Node
	root     *Node
	comments string
}

func readLayout(body []byte, above int, expand bool) (l layout, err error) {
	if l.document, err = decodeDocument(yaml.NewDecoder(bytes.NewReader(body))); err != nil || len(l.document.Content) == 0 {
		return l, errors.Join(err, errUnwritable)
	}
	l.comments = new(writer).comments(l.document)
	keepBlankLines(l.document, strings.Split(string(body), "\n"))
	b := builder{above: above, expand: expand}
	l.root = b.node(l.document.Content[0], 0)
	return l, nil
}

// expand writes out what aliases and merge keys directly in a node bring.
func (n *Node) expand() {
	n.layout.Anchor, n.layout.Content = "", nil
	for i := range n.Members {
		m := &n.Members[i]
		m.merged = false
		if m.layout.Kind == yaml.AliasNode {
			m.layout = m.layout.Alias
		}
		m.layout.Anchor = ""
		n.layout.Content = append(n.layout.Content, m.layout, m.Value.layout)
	}
	for _, item := range n.Items {
		n.layout.Content = append(n.layout.Content, item.layout)
	}
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
