// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"regexp"
	"strings"
)

// mostly is a regular expression that nearly every text matches in a plain way: to see that costs a
// twentieth. Whatever is not plain, the expression decides.
type mostly struct {
	plain func(text string) bool
	*regexp.Regexp
}

func (m mostly) MatchString(text string) bool { return m.plain(text) || m.Regexp.MatchString(text) }

// plain says that there are only lower-case letters and digits, with hyphens between them: surely a match
// of labelPattern.
func plain(text string) bool {
	for i := range len(text) {
		b := text[i]
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && (b != '-' || i == 0 || i == len(text)-1) {
			return false
		}
	}
	return text != ""
}

// plainName says that there are such labels, with dots between them: surely a match of dnsPattern.
func plainName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 63 || !plain(label) {
			return false
		}
	}
	return true
}
