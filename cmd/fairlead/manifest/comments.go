// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNamed bounds the fields that a note names.
const maxNamed = 20

// comments returns the comments of some nodes and of all below them, except those of values that the document has
// elsewhere.
func (w *writer) comments(nodes ...*yaml.Node) string {
	var all []string
	var add func(nodes []*yaml.Node)
	add = func(nodes []*yaml.Node) {
		for _, n := range nodes {
			if !w.placed[n] {
				all = append(all, n.HeadComment, n.LineComment)
				add(n.Content)
				all = append(all, n.FootComment)
			}
		}
	}
	add(nodes)
	return strings.Trim(joinComments(all...), "\n")
}

// joinComments joins those that are not empty. The blank line that one begins with stays.
func joinComments(comments ...string) string {
	return strings.Join(slices.DeleteFunc(comments, func(c string) bool { return c == "" }), "\n")
}

// displaced are comments of removed members that go before the next member that is kept.
type displaced struct {
	comments []string
	fields   []string // that they are of
	line     int      // of the first
}

// moveComments puts the comments of removed members before the field that replaces them, or else before the next
// member that is kept, or at the end.
func (w *writer) moveComments(out *yaml.Node, keys map[string]*yaml.Node, n *Node, at place) {
	var left displaced
	values := n.byKey()
	for i := range n.was.Members {
		m := &n.was.Members[i]
		field := Join(at.path, m.Key)
		switch key := keys[m.Key]; {
		case m.merged:
		case key == nil:
			w.displace(&left, m, field, keys[at.successors[field]])
		default:
			if values[m.Key].isNew() && !w.placed[m.Value.layout] {
				w.moveValueComments(key, *m.Value.layout)
			}
			key.HeadComment = joinComments(w.place(&left, field), key.HeadComment)
		}
	}
	if last := len(out.Content) - 2; last >= 0 && len(left.comments) > 0 {
		foot := &out.Content[last].FootComment
		*foot = joinComments(*foot, "\n"+strings.TrimPrefix(w.place(&left, "the end of "+cmp.Or(at.path, "the object")), "\n"))
	}
}

// moveValueComments moves the comments of a value that is replaced to its key.
func (w *writer) moveValueComments(key *yaml.Node, was yaml.Node) {
	if key.LineComment == "" {
		key.LineComment, was.LineComment = was.LineComment, ""
	}
	key.HeadComment = joinComments(key.HeadComment, w.comments(&was))
}

// displace moves the comments of a removed member to its successor, or to left where there is none.
func (w *writer) displace(left *displaced, m *Member, field string, successor *yaml.Node) {
	comments := w.comments(m.layout, m.Value.layout)
	if comments != "" && strings.HasPrefix(m.layout.HeadComment, "\n") {
		comments = "\n" + comments
	}
	switch {
	case comments == "":
	case successor != nil:
		successor.HeadComment = joinComments(comments, successor.HeadComment)
	default:
		left.line = cmp.Or(left.line, m.Line)
		left.fields = append(left.fields, field)
		left.comments = append(left.comments, comments)
	}
}

// place returns the comments that are left, notes where they are moved to, and empties left.
func (w *writer) place(left *displaced, to string) string {
	comments, fields := joinComments(left.comments...), left.fields
	if len(fields) > maxNamed {
		fields = append(fields[:maxNamed], "...")
	}
	if len(fields) > 0 {
		w.notes = append(w.notes, Note{left.line, fmt.Sprintf("comments of removed fields were moved to %s: those of %s", to, strings.Join(fields, ", "))})
	}
	*left = displaced{}
	return comments
}

// lostComments returns the comments that a new text does not have.
func lostComments(before string, text []byte) (lost []string) {
	document, err := decodeDocument(yaml.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return nil // the caller reads it again
	}
	has := map[string]int{}
	for line := range strings.SplitSeq(new(writer).comments(document), "\n") {
		has[line]++
	}
	for line := range strings.SplitSeq(before, "\n") {
		if has[line]--; has[line] < 0 && line != "" {
			lost = append(lost, line)
		}
	}
	return lost
}

// lostAnchors notes the anchors below a node of which the new document has fewer, or fewer aliases. Its values are the
// same without them, and have to be changed in several places from then on.
func (d *Document) lostAnchors(n *yaml.Node, before, after map[string]int) (notes []Note) {
	at := d.line - 1 + n.Line
	switch name := n.Anchor; {
	case name == "":
	case after["&"+name] == 0:
		notes = append(notes, Note{at, fmt.Sprintf("the anchor &%s is gone: its value is written out in each place", name)})
	case after["*"+name] < before["*"+name]:
		notes = append(notes, Note{at, fmt.Sprintf("of the aliases of &%s not all are kept: its value is written out in their place", name)})
	}
	for _, child := range n.Content {
		notes = append(notes, d.lostAnchors(child, before, after)...)
	}
	return notes
}

// countAnchors counts anchors as &name, and aliases as *name.
func countAnchors(n *yaml.Node, counts map[string]int) map[string]int {
	switch {
	case n.Kind == yaml.AliasNode:
		counts["*"+n.Value]++
	case n.Anchor != "":
		counts["&"+n.Anchor]++
	}
	for _, child := range n.Content {
		countAnchors(child, counts)
	}
	return counts
}
