// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// quoteState follows quotes from line to line, to tell a comment from text that looks like one.
type quoteState struct{ open byte }

// comment returns where a comment begins in a line, or -1.
func (q *quoteState) comment(line string) int {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case q.open == '"' && c == '\\', q.open == '\'' && c == '\'' && strings.HasPrefix(line[i+1:], "'"):
			i++
		case q.open != 0:
			if c == q.open {
				q.open = 0
			}
		case (c == '"' || c == '\'') && opensQuote(line[:i]):
			q.open = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return i
		}
	}
	return -1
}

// opensQuote reports whether a quote after this text opens a scalar, unlike that of "it's".
func opensQuote(before string) bool {
	return before == "" || strings.IndexByte(" \t[{,", before[len(before)-1]) >= 0
}

// comments returns the comments of some lines, each on a line of its own.
func (e *editor) comments(from, to, indent int) (out []string) {
	var quotes quoteState
	for i := from; i < to; i++ {
		if e.inScalar[i] || e.moved[i] {
			continue
		}
		line := strings.TrimRight(e.lines[i], "\r\n")
		if at := quotes.comment(line); at >= 0 {
			out = append(out, strings.Repeat(" ", indent)+strings.TrimRight(line[at:], " \t")+e.eol)
		}
	}
	return out
}

// entryComments returns the comments of an entry, those before it unchanged.
func (e *editor) entryComments(at entry, indent int) (out []string) {
	lead := e.lines[at.lead:at.line]
	if slices.ContainsFunc(lead, commentOnly) {
		out = slices.Clone(lead)
	}
	return append(out, e.comments(at.line, at.end, indent)...)
}

// moveComments puts the comments of removed entries before the field that replaces them, or else before
// the next entry that is kept. It returns those after which no entry is kept.
func (e *editor) moveComments(b block, written map[string][]string, order *Order) (left []string) {
	moved := map[string][]string{}
	var from []string // the fields whose comments are left
	var line int
	note := func(at string) {
		if len(from) > 0 {
			e.notes = append(e.notes, Note{line, fmt.Sprintf("comments of removed fields were moved to %s: those of %s", at, strings.Join(from, ", "))})
		}
		from = nil
	}
	for _, at := range b.entries {
		name := at.key.Value
		if _, stays := written[name]; stays {
			note(order.fieldPath(name))
			moved[name], left = append(moved[name], left...), nil
			continue
		}
		comments := e.entryComments(at, b.indent)
		successor := order.successor(name)
		switch {
		case len(comments) == 0:
		case written[successor] != nil:
			moved[successor] = append(moved[successor], comments...)
		default:
			if len(from) == 0 {
				line = e.number(at.line)
			}
			from = append(from, order.fieldPath(name))
			left = append(left, comments...)
		}
	}
	note("the end of " + order.fieldPath(""))
	for name, lines := range moved {
		written[name] = slices.Concat(lines, written[name])
	}
	if len(left) > 0 && !blank(left[0]) {
		left = slices.Insert(left, 0, e.eol) // they are not about what is above them
	}
	return left
}

// fieldPath returns the path of a field.
func (o *Order) fieldPath(name string) string {
	path := name
	if o != nil && o.path != "" {
		path = strings.Trim(o.path+"."+name, ".")
	}
	if path = strings.ReplaceAll(path, ".[]", "[]"); path == "" {
		return "the object"
	}
	return path
}
