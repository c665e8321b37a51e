// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// parse reads the only document of a text.
func parse(t *testing.T, text string) *Node {
	t.Helper()
	documents := Read(Part{Text: []byte(text), Line: 1})
	if len(documents) != 1 {
		t.Fatalf("%d documents", len(documents))
	}
	if documents[0].Err != nil {
		t.Fatal(documents[0].Err)
	}
	return documents[0].Root
}

func TestAScalarMeansWhatItMeansToKubectl(t *testing.T) {
	for _, text := range []string{
		"a", "1", "-1", "+1", "0777", "0o17", "0x1F", "0b11", "-0b11", "1_000", "1.5", "5.0", "1e3", "1e21", "-1.5e-9", ".5", "5.", "1.2.3", "1:20",
		"18446744073709551615", "9223372036854775807", "-9223372036854775808", "123456789012345678901234567890", "0.1", "1e18", "1e19",
		"true", "True", "yes", "Yes", "no", "on", "Off", "OFF", "y", "n", "Y", "N", "tRue", "null", "~", "Null", "nul", "''", `"1"`, "'on'",
		"2026-01-01", "2026-01-01T00:00:00Z", "10.0.0.1", "5m", "50%", "1e", "--", "+", "-a", ".a", "!!str 5", "!!int '5'", "!!float 5", "!!binary aGk=",
		"|\n  1\n", "0x", "0b12", "08", "_1", "1__0", "+.5", "-.5",
	} {
		t.Run(text, func(t *testing.T) {
			doc := "v: " + text
			raw, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := kjson.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(want), parse(t, doc).Data()); diff != "" {
				t.Errorf("-kubectl +vet:\n%s", diff)
			}
		})
	}
}

func TestKeysMergesAndAliasesReadAsForKubectl(t *testing.T) {
	for _, doc := range []string{
		"{1: a, true: b, on: c, 1.5: d}",
		"base: &b {a: 1, c: {d: 2}}\nmore: {<<: *b, a: 3}\nall: [*b, *b]",
		"x: &x {a: 1}\ny: &y {b: 2, a: 5}\nz: {<<: [*x, *y], c: 3}",
		"x: &x {a: 1}\ny: &y {b: 2, a: 5}\nz: {a: 6, <<: *x, b: 3, <<: *y}",
		"a:\n- b\n-\n  - c\n- {d: e}\n",
		"a: >-\n  one\n  two\nb: |\n  x\n",
		`{"a": [1, 2.50, "x\u00e9\ud83d\ude00", null, {"b": false}]}`,
	} {
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if strings.HasPrefix(doc, `{"`) {
			raw, err = []byte(doc), nil // kubectl reads JSON as JSON
		}
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := kjson.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(want), parse(t, doc).Data()); diff != "" {
			t.Errorf("%s\n-kubectl +vet:\n%s", doc, diff)
		}
	}
}

func TestAFieldIsFoundWhereItStands(t *testing.T) {
	doc := "# first\nspec:\n  list:\n  - name: a\n  - {name: é, to: [x,  y]}\n  a.b/c: 1\n  a: {b: 2}\nmetadata: {labels: {a.b/c: d}}\n"
	compact := `{"spec": {"list": [{"name": "a"},` + "\n" + ` {"name": "é", "to": ["x",  "y"]}], "a.b/c": 1}}`
	for _, test := range []struct {
		doc, path string
		want      Position
		found     bool
	}{
		{doc, "", Position{2, 1}, true},
		{doc, "spec", Position{2, 1}, true},
		{doc, "spec.list", Position{3, 3}, true},
		{doc, "spec.list[0]", Position{4, 5}, true},
		{doc, "spec.list[1].to[1]", Position{5, 24}, true},
		{doc, "spec.list[1].missing.more", Position{5, 5}, false},
		{doc, "spec.list[7]", Position{3, 3}, false},
		{doc, "spec.a.b/c", Position{6, 3}, true},
		{doc, "spec.a.b", Position{7, 7}, true},
		{doc, "metadata.labels[a.b/c]", Position{8, 21}, true},
		{doc, "status", Position{2, 1}, false},
		{compact, "spec.list[1].to[1]", Position{2, 29}, true},
		{compact, "spec.list[1].name", Position{2, 3}, true},
		{compact, "spec.a.b/c", Position{2, 37}, true},
	} {
		got, found := parse(t, test.doc).Find(test.path)
		if got != test.want || found != test.found {
			t.Errorf("%q: %v, %v instead of %v, %v", test.path, got, found, test.want, test.found)
		}
	}
}

func TestWhatKubectlPassesOverIsAProblem(t *testing.T) {
	for name, test := range map[string]struct {
		doc  string
		want []string
	}{
		"twice":           {"spec:\n  a: 1\n  a: 2\n", []string{"3:3 spec.a duplicate-key"}},
		"twice in JSON":   {`{"spec": {"a": 1, "b": 2, "a": 3}}`, []string{"1:27 spec.a duplicate-key"}},
		"twice in a list": {"l:\n- {x: 1, x: 2}\n", []string{"2:10 l[0].x duplicate-key"}},
		"key":             {"{a: {[x]: 1}}", []string{"1:6 a syntax"}},
		"not a number":    {"a: .nan", []string{"1:4 a syntax"}},
		"tag":             {"a: !custom b", []string{"1:4 a syntax"}},
		"wrong tag":       {"a: !!int b", []string{"1:4 a syntax"}},
		"merge":           {"a: {<<: 1}", []string{"1:9 a syntax"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			parse(t, test.doc).AllProblems(func(path string, p Problem) {
				got = append(got, strings.Join([]string{spot(p.Position), path, p.Rule}, " "))
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func spot(p Position) string {
	raw, _ := json.Marshal([]int{p.Line, p.Column})
	return strings.ReplaceAll(strings.Trim(string(raw), "[]"), ",", ":")
}

func TestWhatCannotBeReadIsNamedWithItsLine(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'i'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + strings.Join([]string{p, p, p, p, p, p, p, p, p, p}, ", *") + "]\n"
	}
	for name, test := range map[string]struct {
		doc, want string
		line      int
	}{
		"YAML":          {"a: 1\nb: [\n", "not YAML", 12},
		"first line":    {"a: b: c\n", "not YAML", 11},
		"later line":    {"a: 1\nb: c: d\ne: 1", "not YAML", 12},
		"indent":        {"a: 1\nb:\n  - x\n c: d\n", "not YAML", 14},
		"never closed":  {"a: 1\nb: {x: 1\nc: d\n", "not YAML", 12},
		"tab":           {"a:\n\tb: 1\n", "not YAML", 12},
		"JSON":          {"{\"a\": 1,\n \"b\": ]}", "not JSON", 12},
		"JSON cut off":  {"{\"a\": [1,", "not JSON", 11},
		"bomb":          {bomb, "aliases of this document expand to more than", 0},
		"holds itself":  {"a: &a [*a]", "", 11},
		"deep":          {strings.Repeat("[", 600) + strings.Repeat("]", 600), "deeper", 0},
		"unknown alias": {"a: *b", "not YAML", 0},
	} {
		t.Run(name, func(t *testing.T) {
			documents := Read(Part{Text: []byte(test.doc), Line: 11})
			p := documents[len(documents)-1].Err
			if p == nil || !strings.Contains(p.Message, test.want) || test.line != 0 && p.Line != test.line {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestASplitterCutsWhereKubectlDoes(t *testing.T) {
	text := "\ufeff# head\n---\na: 1\n--- # why\nb: |\n  ---\n ---x\n---\n\n# nothing\n---\n--- {c: 2}\n...\n---\r\nd: 3\r\n---"
	splitter := NewSplitter(strings.NewReader(text), 1000)
	var got []string
	var lines []int
	for {
		chunk, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if body := chunk.body(); !chunk.Empty() {
			got, lines = append(got, string(body.Text)), append(lines, body.Line)
		}
	}
	if diff := cmp.Diff([]string{"a: 1\n", "b: |\n  ---\n ---x\n", "--- {c: 2}\n...\n", "d: 3\r\n"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{3, 5, 12, 15}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestALargeDocumentIsRefusedAndALongLineIsNot(t *testing.T) {
	long := "a: " + strings.Repeat("x", 200_000)
	if chunk, err := NewSplitter(strings.NewReader(long), 300_000).Next(); err != nil || len(chunk.Text) != len(long) {
		t.Errorf("%d bytes, %v", len(chunk.Text), err)
	}
	if _, err := NewSplitter(strings.NewReader("---\n"+long), 100_000).Next(); err == nil || !strings.Contains(err.Error(), "line 2: the document is too large") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseNeverPanicsAndGivesJSON(f *testing.F) {
	for _, seed := range []string{"a: 1", "{\"a\": [1, {}]}", "- *x", "a: &a [*a]", "<<: {a: 1}", "? [a]\n: b", "!!binary x", "a: 1\n---\nb", "%YAML 1.1\n---\na", "\xff\xfe", "{{ x }}", "\"\\ud800\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		splitter := NewSplitter(strings.NewReader(string(text)), 1<<20)
		for {
			chunk, err := splitter.Next()
			if err != nil {
				return
			}
			for _, d := range Read(chunk) {
				if d.Err != nil {
					continue
				}
				if _, err := json.Marshal(d.Root.Data()); err != nil {
					t.Error(err)
				}
				d.Root.AllProblems(func(path string, _ Problem) { d.Root.Find(path) })
				d.Root.Find(string(text))
			}
		}
	})
}
