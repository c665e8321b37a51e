// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text bounds what is shown to users: messages of conditions, notes of Events, lines of a log.
package text

import "strings"

// Truncate returns text as valid UTF-8 of at most limit bytes, which must be more than 3. What is cut off
// ends in three dots. The API server replaces invalid UTF-8, and a client that compares the two would write
// for ever.
func Truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-3], "") + "..."
	}
	return text
}

// OneLine returns the lines of a text that are not blank, trimmed and joined, so that a search in a log or in a
// termination message finds all of it.
func OneLine(text string) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
