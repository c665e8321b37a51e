// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"unicode/utf8"
)

// Cut bounds a text to limit bytes of whole, valid characters; what is cut off shows as an ellipsis.
func Cut(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "\uFFFD") + ellipsis
}

// Label is namespace/name for a message, cut to what a valid object can have.
func Label(namespace, name string) string {
	if name == "" {
		name = "(unnamed)"
	}
	if namespace != "" {
		name = namespace + "/" + name
	}
	return Cut(name, 320)
}
