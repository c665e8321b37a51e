// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"
)

func TestAnAnnotationThatIsNoTokenIsRefused(t *testing.T) {
	const key = "example.com/now"
	for value, want := range map[string]string{
		"1":                        "",
		"2026-03-02T14:00:00Z":     "",
		"2026-03-02 14:00, by ann": "",
		strings.Repeat("ä", 256):   "",
		"":                         "give a token",
		strings.Repeat("ä", 257):   "256",
		strings.Repeat("\n", 2000): "printable",
		"a\nb":                     "printable",
		"a\x00":                    "printable",
		"a\u200b":                  "printable",
		"a\ufffd":                  "printable",
		"a\xff":                    "printable",
	} {
		errs := Tokens(map[string]string{key: value, "example.com/other": ""}, "example.com/absent", key)
		switch {
		case want == "" && len(errs) > 0:
			t.Errorf("%q is refused: %v", value, errs)
		case want != "" && (len(errs) != 1 || errs[0].Field != "metadata.annotations["+key+"]" ||
			!strings.Contains(errs[0].Error(), want) || len(errs[0].Error()) > 1200):
			t.Errorf("%q: %v, want one error with %q", value, errs, want)
		}
	}
}
