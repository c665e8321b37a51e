// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonindex

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, text string) Value {
	t.Helper()
	v, err := NewDocument().Read([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestADocumentSaysWhereItIsNoJSON(t *testing.T) {
	for text, says := range map[string]string{
		``: "unexpected EOF", ` `: "unexpected EOF", `{`: "unexpected EOF", `[1`: "unexpected EOF", `"a`: "unexpected EOF", `{"a":`: "unexpected EOF",
		`{"a":{"b":`: "unexpected EOF", `"\`: "unexpected EOF", `"\u00`: "unexpected EOF", `nul`: "unexpected EOF", `-`: "unexpected EOF", `1.`: "unexpected EOF", `1e`: "unexpected EOF",
		`hello`: `'h' at byte 0`, `[1,]`: `']' at byte 3`, `{"a":1,}`: `'}' at byte 7`, `{1:2}`: `'1' at byte 1`, `{"a" 1}`: `'1' at byte 5`, `[1 2]`: `'2' at byte 3`,
		`01`: "more after the end of the JSON, at byte 1", `{} {}`: "more after the end", `+1`: `'+' at byte 0`, `.5`: `'.' at byte 0`, "\"a\nb\"": `'\n' at byte 2`,
		`"\x"`: `'x' at byte 2`, `"\u12x4"`: `'x' at byte 5`, `"\ud800"`: "surrogate", `"\ud800\u0041"`: "surrogate", `"\udc00"`: "surrogate", "\"\xff\"": "UTF-8", "\"\xed\xa0\x80\"": "UTF-8",
		`[}`: `'}' at byte 1`, `{]`: `']' at byte 1`, `tru}`: `'}' at byte 3`,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): "nested too deeply", "[" + strings.Repeat("1,", 2*maxTokens) + "1]": "too many values",
	} {
		v, err := NewDocument().Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || v.Exists() {
			t.Errorf("%.50s: error is %v, want %q in it", text, err, says)
		}
	}
}

func TestTheLongestAndTheDeepestDocumentsAreRead(t *testing.T) {
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if v := read(t, deep); string(v.Bytes()) != deep {
		t.Error("not all of a deep document was read")
	}
	long := "[" + strings.Repeat("1,", maxTokens-2) + "1]"
	if got := read(t, long).Len(); got != maxTokens-1 {
		t.Errorf("%d items were read", got)
	}
}

type member struct{ name, value string }

func TestValuesAreThePartsInOrder(t *testing.T) {
	v := read(t, " { \"b\" : [1, [2] ,{}] ,\"a\":null,\n\"\\u0041\":{\"x\":\"}\"}, \"q\":\"\\\\\\\"{\" ,\"n\":-1e5} ")
	var got []member
	for name, value := range v.Fields() {
		got = append(got, member{string(name), string(value.Bytes())})
	}
	want := []member{{"b", `[1, [2] ,{}]`}, {"a", `null`}, {"A", `{"x":"}"}`}, {"q", `"\\\"{"`}, {"n", `-1e5`}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	var items []string
	for item := range v.Field("b").Elements() {
		items = append(items, string(item.Bytes()))
	}
	if diff := cmp.Diff([]string{"1", "[2]", "{}"}, items); diff != "" || v.Field("b").Len() != 3 || v.Len() != 5 {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if text, ok := v.Field("q").Text(); !ok || text != `\"{` {
		t.Errorf("the text is %q", text)
	}
	if none := v.Field("none"); none.Exists() || none.Kind() != 0 || none.Bytes() != nil || none.Len() != 0 || none.Field("x").Exists() {
		t.Errorf("there is %+v", none)
	}
}

// FuzzDocument feeds anything: what is JSON, and only that, is read, and taken apart as encoding/json
// does.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":[1,"\\"]},"c":"\""}`, `[{"a":1},"x",[],null]`, `{"a`, `{"a":"\`, `{"a":1}}`, `{1:2}`, "\"12345678\u00e412345678\"", `"\ud83d\ude00"`, `"\ud83dx"`,
		`-0.10E+5`, `-`, `00`, `true`, `[tru`, " \t\r\n[ ]\f", "\"\x7f\"", "\"\x1f\"", "\"1234567\xc3\"", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := NewDocument()
		defer d.Release()
		v, err := d.Read(raw)
		if want := jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true)); want != (err == nil) {
			t.Fatalf("%q: read with %v, and is JSON: %t", raw, err, want)
		}
		if err != nil {
			return
		}
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			return // such as a number that no float holds
		}
		if diff := cmp.Diff(want, tree(t, v)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
	})
}

// tree builds of values what encoding/json makes of all of it.
func tree(t *testing.T, v Value) (out any) {
	t.Helper()
	switch v.Kind() {
	case '{':
		object := map[string]any{}
		for name, value := range v.Fields() {
			object[string(name)] = tree(t, value)
		}
		return object
	case '[':
		list := make([]any, 0, v.Len())
		for item := range v.Elements() {
			list = append(list, tree(t, item))
		}
		return list
	case '"':
		text, ok := v.Text()
		if !ok {
			t.Fatalf("%s is no text", v.Bytes())
		}
		return text
	}
	if err := json.Unmarshal(v.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAValueKnowsHowManyAreInIt(t *testing.T) {
	if got := read(t, `{"a":[1,{"b":2}],"c":null}`).Values(); got != 9 {
		t.Errorf("%d values", got)
	}
	if got := (Value{}).Values(); got != 0 {
		t.Errorf("%d values in none", got)
	}
}
