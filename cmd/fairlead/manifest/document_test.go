// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rewrite(t *testing.T, text, value string) (string, []Note) {
	t.Helper()
	document, err := Parse(Part{Text: []byte(text), Line: 1})
	if err != nil || document == nil {
		t.Fatalf("%v\n%s", err, text)
	}
	to := copyOf(parse(t, value))
	to.Successors = map[string]string{"spec.old": "fourth"}
	written, notes, err := document.Rewrite(to)
	if err != nil {
		t.Fatal(err)
	}
	return string(written), notes
}

func TestRewriteKeepsCommentsOrderAndStyle(t *testing.T) {
	for name, test := range map[string]struct{ text, value, want string }{
		"nothing": {"kind:   x   # y\n", "{kind: x}", "kind:   x   # y\n"},
		"a scalar on its line": {
			"kind:   x   # y\n# z\n", "{kind: z}", "kind: z # y\n\n# z\n",
		},
		"quotes stay": {
			"kind: 'x' # it's\nspec: {first: \"#\"} # y\n", "{kind: z, spec: {first: '#'}}", "kind: 'z' # it's\nspec: {first: \"#\"} # y\n",
		},
		"a number into text": {"spec: 1 # y\n", "{spec: '1'}", "spec: \"1\" # y\n"},
		"what kubectl takes for a boolean is quoted": {
			"kind: x\n", "{kind: x, spec: {first: 'off', second: {a: 'yes', b: '0o7', c: '1_000', d: '1:30', e: ~, f: '=', g: '2001-01-01'}}}",
			"kind: x\nspec:\n  first: \"off\"\n  second:\n    a: \"yes\"\n    b: \"0o7\"\n    c: \"1_000\"\n    d: \"1:30\"\n    e: null\n    f: =\n    g: \"2001-01-01\"\n",
		},
		"new fields in the order of the value": {
			"spec:\n  third: []\n  second: {}\nkind: x\n", "{kind: x, spec: {first: a, second: {}, third: [], fourth: b, unknown: c}}",
			"spec:\n  first: a\n  third: []\n  fourth: b\n  unknown: c\n  second: {}\nkind: x\n",
		},
		"comments of what is gone follow its successor": {
			"spec:\n  # what\n  old: x # here\n\n  # next\n  first: a\n", "{spec: {first: a, fourth: x}}",
			"spec:\n  # next\n  first: a\n  # what\n  # here\n  fourth: x\n",
		},
		"comments of what has no successor stay": {
			"spec:\n  # what\n  gone: x # here\n\n  # next\n  first: a\n  # end\n", "{spec: {first: a}}",
			"spec:\n  # what\n  # here\n\n  # next\n  first: a\n  # end\n",
		},
		"comments of the last one": {
			"spec:\n  first: a\n  # what\n  gone:\n    # inside\n    x: y\n# end\n", "{spec: {first: a}}",
			"spec:\n  first: a\n\n  # what\n  # inside\n# end\n",
		},
		"what looks like a comment in a text is none": {
			"spec:\n  first: a\n  gone: |\n    # text\n\n    # text\n  quoted: \"x # y\"\n  plain: it's#x # z\n", "{spec: {first: a}}",
			"spec:\n  first: a\n\n  # z\n",
		},
		"a moved block keeps its lines": {
			"spec:\n  old:\n    # one\n    a:   b   # two\n\n    c: |\n      # text\n  first: x\n", "{spec: {first: x, second: {in: {a: b, c: \"# text\\n\"}}}}",
			"spec:\n  first: x\n  second:\n    in:\n      # one\n      a: b # two\n\n      c: |\n        # text\n",
		},
		"a moved list, with its own indentation": {
			"spec:\n    old:\n      - {b:   1} # one\n    first: x\n", "{spec: {first: x, third: [{b: 1}]}}",
			"spec:\n    first: x\n    third:\n        - {b: 1} # one\n",
		},
		"items one by one": {
			"spec:\n  third:\n  # one\n  - b: x\n    a:   y\n  # two\n  - b: x # z\n", "{spec: {third: [{b: x, a: y}, {b: w, a: v}]}}",
			"spec:\n  third:\n  # one\n  - b: x\n    a: y\n  # two\n  - b: w # z\n    a: v\n",
		},
		"the first field of an item": {
			"spec:\n  third:\n  - gone: x # z\n    a: y\n", "{spec: {third: [{b: x, a: y}]}}",
			"spec:\n  third:\n  - b: x\n    # z\n    a: y\n",
		},
		"a comment after a bracket": {
			"spec: [ # a\n  b ]\nkind: x\n", "{spec: [b], kind: w}", "spec: [\n  # a\n  b]\nkind: w\n",
		},
		"a bracket in a text": {
			"spec: |\n  a [ # b\n\n  c\nkind: x\n", "{spec: \"a [ # b\\n\\nc\\n\", kind: w}", "spec: |\n  a [ # b\n\n  c\nkind: w\n",
		},
		"a comment after the key of what becomes empty": {
			"spec: # a\n  # b\n  first: c # d\nkind: x\n", "{spec: {}, kind: x}", "# b\n# d\n\nspec: {} # a\nkind: x\n",
		},
		"a comment after the key of what is a list now": {
			"spec: # a\n  first: c # d\nkind: x\n", "{spec: [c], kind: x}", "# d\nspec: # a\n- c\nkind: x\n",
		},
		"comments of an item that is another": {
			"spec:\n  third:\n  - b # a\n  - c\n", "{spec: {third: [{a: b}, c]}}", "spec:\n  third:\n  # a\n  - a: b\n  - c\n",
		},
		"flow stays flow": {
			"spec: {first: 'a', third: [{a: \"b\"}]} # x\n", "{spec: {first: a, third: [{a: b}], fourth: c}}",
			"spec: {first: 'a', third: [{a: \"b\"}], fourth: c} # x\n",
		},
		"an anchor beside it": {
			"spec:\n  second: &x {a: b}\n  first: y\nother: *x\n", "{spec: {second: {a: b}, first: z}, other: {a: b}}",
			"spec:\n  second: &x {a: b}\n  first: z\nother: *x\n",
		},
		"a merge key that still says the same": {
			"base: &x {first: a}\nspec:\n  <<: *x\n  fourth: y\n", "{base: {first: a}, spec: {first: a, fourth: z}}",
			"base: &x {first: a}\nspec:\n  <<: *x\n  fourth: z\n",
		},
		"a merge key of which something is overridden": {
			"base: &x {first: a}\nspec:\n  <<: *x\n  fourth: y\n", "{base: {first: a}, spec: {first: b, fourth: y}}",
			"base: &x {first: a}\nspec:\n  <<: *x\n  first: b\n  fourth: y\n",
		},
		"a merge key that brings too much is written out": {
			"base: &x {first: a, fourth: b}\n# c\nspec:\n  <<: *x\n", "{base: {first: a, fourth: b}, spec: {first: a}}",
			"base: {first: a, fourth: b}\n# c\nspec:\n  first: a\n",
		},
		"CRLF":                {"kind: x\r\nspec: {}\r\n", "{kind: w, spec: {first: a}}", "kind: w\r\nspec: {first: a}\r\n"},
		"no line end":         {"kind: x\nspec:\n  first: a", "{kind: x, spec: {first: a, fourth: b}}", "kind: x\nspec:\n  first: a\n  fourth: b"},
		"a byte order mark":   {"\xef\xbb\xbfkind: x\n", "{kind: w}", "\xef\xbb\xbfkind: w\n"},
		"characters of bytes": {"kind: x\nspec: {\"é\": ü} # ä\né: ü # ö\n", "{kind: x, spec: {é: ü}, é: o}", "kind: x\nspec: {\"é\": ü} # ä\né: o # ö\n"},
		"markers":             {"%YAML 1.1\n--- # a\nkind: x\n...\n# b\n", "{kind: w}", "%YAML 1.1\n--- # a\nkind: w\n...\n# b\n"},
		"a value at a marker": {"--- {kind: x} # a\n", "{kind: w}", "---\n{kind: w} # a\n"},
		"unusual keys":        {"? kind\n: x # a\n? 'spec'\n: {}\n", "{kind: w, spec: {}}", "kind: w # a\n'spec': {}\n"},
		"JSON on one line":    {"{\"kind\":\"x\", \"spec\":{}}\n", "{kind: w, spec: {first: a}}", "{\"kind\":\"w\",\"spec\":{\"first\":\"a\"}}\n"},
		"JSON with tabs":      {"---\n{\n\t\"spec\": {},\n\t\"kind\": \"x\"\n}", "{kind: w, spec: {}}", "---\n{\n\t\"spec\": {},\n\t\"kind\": \"w\"\n}"},
		"JSON with CRLF":      {"{\r\n \"kind\": \"\\ud83d\\ude00\"\r\n}\r\n", "{kind: <y}", "{\r\n \"kind\": \"<y\"\r\n}\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := rewrite(t, test.text, test.value)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again, _ := rewrite(t, got, test.value); again != got {
				t.Errorf("a second time:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestRewriteSaysWhereCommentsWent(t *testing.T) {
	_, notes := rewrite(t, "kind: x\nspec:\n  old: a # follows\n  # one\n  gone: b\n  # two\n  lost: c\n  first: d\n", "{kind: x, spec: {first: d, fourth: a}}")
	want := []Note{{5, "comments of removed fields were moved to spec.first: those of spec.gone, spec.lost"}}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseNamesTheLine(t *testing.T) {
	for name, test := range map[string]struct {
		text, want string
		line       int
	}{
		"no YAML":     {"\na: b\n  c: [\n", "mapping values", 12},
		"a key twice": {"x: &x {a: b}\ny: {<<: *x, a: c}\nz: {a: b, \"a\": c}\n", "key \"a\"", 12},
		"one at once": {"a: b\nb: c\na: d\n", "key \"a\"", 12},
		"too deep":    {strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2), "deeper than 512", 10},
		"a bomb": {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "more than 100000 values", 10},
		"no text": {"a: b\nc: !!binary /w==\n", "kubectl reads this document differently", 10},
	} {
		document, err := Parse(Part{Text: []byte(test.text), Line: 10})
		if err == nil {
			t.Errorf("%s: %v", name, document.Root.Data())
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q does not say %q", name, err, test.want)
		} else if syntax := (*Problem)(nil); !errors.As(err, &syntax) || syntax.Line != test.line {
			t.Errorf("%s: %+v, want line %d", name, syntax, test.line)
		}
	}
}

// FuzzRewrite changes arbitrary texts: whatever comes out must say what it was told to.
func FuzzRewrite(f *testing.F) {
	f.Add("kind: x # y\nspec:\n  # a\n  old: &a {b: c}\n  third:\n  - a: 1\n    b: |\n      # x\n  first: 'z'\n", uint8(3))
	f.Add("--- # x\n{\"a\": [1, {\"b\": null}]}\n...\n", uint8(1))
	f.Fuzz(func(t *testing.T, text string, seed uint8) {
		parts, err := Split([]byte(text))
		if err != nil {
			return
		}
		var whole strings.Builder
		for _, part := range parts {
			whole.Write(part.Text)
			document, err := Parse(part)
			if err != nil || document == nil {
				continue
			}
			want := disturb(document.Root, &seed)
			written, _, err := document.Rewrite(want)
			if err != nil {
				continue
			}
			again, err := Parse(Part{Text: written, Line: 1})
			if err != nil || again == nil || !again.Root.is(want.Exact()) {
				t.Fatalf("%q became %q: %v, want %v", part.Text, written, err, want.Exact())
			}
			if lost := lostComments(new(writer).comments(document.Root.layout), written); len(lost) > 0 && !document.IsJSON() {
				t.Fatalf("%q became %q, and lost %q", part.Text, written, lost)
			}
		}
		if whole.String() != text {
			t.Fatalf("the parts of %q are %q", text, whole.String())
		}
	})
}

// disturb drops, adds, moves and changes parts of a value.
func disturb(n *Node, seed *uint8) *Node {
	*seed = *seed*5 + 1
	out := &Node{Kind: n.Kind, Value: n.Value}
	for _, item := range n.Items {
		out.Items = append(out.Items, disturb(item, seed))
	}
	for _, m := range n.Members {
		key := m.Key
		switch *seed >> 5 {
		case 0:
			key = ""
		case 1:
			key += "-moved"
		case 2:
			m.Value = &Node{Kind: Mapping, Members: []Member{{Key: "in", Value: m.Value}}}
		default:
			m.Value = disturb(m.Value, seed)
		}
		if *seed = *seed*5 + 1; key != "" && out.Get(key) == nil {
			out.Members = append(out.Members, Member{Key: key, Value: copyOf(m.Value)})
		}
	}
	switch {
	case n.Kind == Mapping && *seed&64 != 0 && out.Get("added") == nil:
		text := &Node{Kind: Mapping, Members: []Member{{Key: "# x", Value: &Node{Value: "y\n"}}}}
		out.Members = append(out.Members, Member{Key: "added", Value: &Node{Kind: Sequence, Items: []*Node{{Value: "on"}, text}}})
	case n.Kind == Scalar && *seed&128 != 0:
		out.Value = "changed: # yes"
	}
	return out
}

// copyOf returns the value of a node alone.
func copyOf(n *Node) *Node {
	out := &Node{Kind: n.Kind, Value: n.Value}
	for _, m := range n.Members {
		out.Members = append(out.Members, Member{Key: m.Key, Value: copyOf(m.Value)})
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, copyOf(item))
	}
	return out
}
