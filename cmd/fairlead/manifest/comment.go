// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import "strings"

// quoting follows quotes from line to line, to tell a comment from text that looks like one.
type quoting struct{ open byte }

// comment returns where a comment begins in a line, or -1.
func (q *quoting) comment(line string) int {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case q.open == '"' && c == '\\', q.open == '\'' && c == '\'' && strings.HasPrefix(line[i+1:], "'"):
			i++
		case q.open != 0:
			if c == q.open {
				q.open = 0
			}
		case (c == '"' || c == '\'') && begins(line[:i]):
			q.open = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return i
		}
	}
	return -1
}

// begins says that a quote after this text opens a scalar, unlike that of "it's".
func begins(before string) bool {
	return before == "" || strings.IndexByte(" \t[{,", before[len(before)-1]) >= 0
}

// indentOf returns how many spaces a line begins with; -1 for a blank one.
func indentOf(line string) int {
	text := strings.TrimLeft(line, " ")
	if strings.TrimSpace(text) == "" {
		return -1
	}
	return len(line) - len(text)
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

func commentOnly(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }
