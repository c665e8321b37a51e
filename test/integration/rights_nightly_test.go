// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"os"
	"strings"
	"testing"
)

// TestEachFieldNeedsARightOrNone keeps a field, a value of one or an annotation from being added without a look at what
// it lends to its writer.
func TestEachFieldNeedsARightOrNone(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/rights.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, cases, unused := map[string]bool{}, rightsCases(), rightsCases()
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		known[words[0]] = true
		for _, name := range words[1:] {
			if _, has := cases[name]; !has && name != "-" {
				t.Errorf("testdata/rights.txt names case %q for %s, which rightsCases does not have", name, words[0])
			}
			delete(unused, name)
		}
	}
	for _, field := range append(fieldsOfSpecs(t), annotationNames(t)...) {
		if !known[field] {
			t.Errorf("testdata/rights.txt lacks %q: name the case of rightsCases with the rights that it needs of its writer, or -", field)
		}
		delete(known, field)
	}
	for field := range known {
		t.Errorf("testdata/rights.txt has %q, which no API type has", field)
	}
	for name := range unused {
		t.Errorf("no field of testdata/rights.txt needs the rights of case %q", name)
	}
}
