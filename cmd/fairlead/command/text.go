// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"strings"
	"unicode"
)

// printable passes on what write writes, without what a terminal would obey or what would reorder the text beside it: names
// and messages of objects are written by others. Lines and tabs stay.
func printable(to io.Writer, write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(to, strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text.String(), "\uFFFD")))
	return err
}
