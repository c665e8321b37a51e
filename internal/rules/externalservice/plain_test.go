// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"strings"
	"testing"
)

func TestWhatIsPlainMatchesThePattern(t *testing.T) {
	long := strings.Repeat("a", 64)
	for text, want := range map[string][2]bool{
		"a": {true, true}, "db-1": {true, true}, "0": {true, true}, "db.example.com": {false, true}, "a." + long[1:]: {false, true},
		"": {}, "-": {}, "-a": {}, "a-": {}, "A": {}, "a_b": {}, "a b": {}, "\u00e4": {}, ".": {}, "a.": {}, ".a": {}, "a..b": {}, "a.-b": {}, "a." + long: {}, "a\n": {},
	} {
		if got := [2]bool{plain(text), plainName(text)}; got != want {
			t.Errorf("%q is plain: %v instead of %v", text, got, want)
		}
		if plain(text) && !labelPattern.Regexp.MatchString(text) || plainName(text) && !dnsPattern.Regexp.MatchString(text) {
			t.Errorf("%q is plain and matches no pattern", text)
		}
	}
}

func TestWhatIsNotPlainIsForThePatternToDecide(t *testing.T) {
	for text, want := range map[string]bool{"_ldap._tcp.example.com": true, "db.example.com.": true, "a..b": false, "-a.b": false} {
		if got := dnsPattern.MatchString(text); got != want {
			t.Errorf("%q matches: %t", text, got)
		}
	}
}
