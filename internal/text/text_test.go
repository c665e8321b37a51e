// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import "testing"

func TestWhatIsCutIsValidAndTellsThatItIs(t *testing.T) {
	for text, want := range map[string]string{
		"":              "",
		"short":         "short",
		"exactly ten":   "exactly...",
		"äöüäöü":        "äöü...", // 12 bytes
		"0123456€":      "0123456€",
		"012345€7":      "012345€7",
		"01234€€":       "01234...",
		"bad \xff byte": "bad \uFFFD...",
	} {
		if got := Truncate(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestATextOfSeveralLinesIsOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"one":                      "one",
		"one\ntwo":                 "one; two",
		" one \r\n\n\ttwo\n ":      "one; two",
		"a: b: no such file\nc: d": "a: b: no such file; c: d",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
