// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type member struct{ name, value string }

func fieldsOf(object string) (all []member) {
	for name, value := range Fields([]byte(object)) {
		all = append(all, member{string(name), string(value)})
	}
	return all
}

func TestFieldsAreThePartsInOrder(t *testing.T) {
	got := fieldsOf(" { \"b\" : [1, 2] ,\"a\":null,\n\"\\u0041\":{\"x\":\"}\"}, \"q\":\"\\\\\\\"{\" ,\"n\":-1e5}")
	want := []member{{"b", `[1, 2]`}, {"a", `null`}, {"A", `{"x":"}"}`}, {"q", `"\\\"{"`}, {"n", `-1e5`}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for _, none := range []string{``, `{}`, ` { } `, `[]`, `[1]`, `7`, `null`, `"{"`} {
		if got := fieldsOf(none); len(got) > 0 {
			t.Errorf("%q has the fields %v", none, got)
		}
	}
}

// FuzzFields feeds anything: what is JSON is taken apart as encoding/json does, and what is not
// does no harm.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,"\\"]},"c":"\""}`, `[{"a":1},"x",[],null]`, `{"a`, `{"a":"\`, `[[[`, `{"a":1}}`, `{1:2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]json.RawMessage{}
		for name, value := range Fields(raw) {
			got[string(name)] = value
		}
		Identify(raw)
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		object := map[string]json.RawMessage{}
		if json.Unmarshal(raw, &object) == nil && len(object) > 0 {
			for name := range object {
				if value, has := got[name]; has && string(value) != string(object[name]) {
					t.Errorf("%s: %q is %s, not %s", raw, name, value, object[name])
				}
			}
			if len(got) != len(object) {
				t.Errorf("%s: %d fields instead of %d", raw, len(got), len(object))
			}
		}
	})
}
