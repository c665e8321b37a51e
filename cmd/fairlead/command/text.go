// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// printable passes on what write writes, without what is unprintable: names and messages of objects are written by others. Lines
// and tabs stay.
func printable(to io.Writer, write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(to, strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && inspect.IsUnprintable(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text.String(), "\uFFFD")))
	return err
}
