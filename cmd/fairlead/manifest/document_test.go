// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func rewrite(t *testing.T, text, value string) (string, []Note) {
	t.Helper()
	document, err := Parse(Part{Text: []byte(text), Line: 1})
	if err != nil || document == nil {
		t.Fatalf("%v\n%s", err, text)
	}
	written, notes, err := document.Rewrite(parse(t, value))
	if err != nil {
		t.Fatal(err)
	}
	return string(written), notes
}

func TestRewriteKeepsCommentsQuotesAndTheFrame(t *testing.T) {
	for name, test := range map[string]struct {
		text, value, want string
		lost              []Note
	}{
		"nothing":          {text: "kind:   x   # y\n", value: "{kind: x}", want: "kind:   x   # y\n"},
		"a scalar":         {text: "kind:   x   # y\n# z\n", value: "{kind: z}", want: "kind: z # y\n\n# z\n"},
		"quotes":           {text: "kind: 'x'\nspec: {first: \"#\"} # y\n", value: "{kind: z, spec: {first: '#'}}", want: "kind: z\nspec: # y\n  first: \"#\"\n"},
		"a number to text": {text: "spec: 1 # y\n", value: "{spec: '1'}", want: "spec: \"1\" # y\n"},
		"what kubectl takes for a boolean": {
			text: "kind: x\n", value: "{kind: x, spec: {a: 'off', b: '0o7', c: '1_000', d: '1:30', e: ~, f: '=', g: '2001-01-01', on: 'yes'}}",
			want: "kind: x\nspec:\n  a: \"off\"\n  b: \"0o7\"\n  c: \"1_000\"\n  d: \"1:30\"\n  e: null\n  f: =\n  g: \"2001-01-01\"\n  \"true\": \"yes\"\n",
		},
		"a removed field": {
			text: "spec:\n  # what\n  gone: x # here\n\n  # next\n  first: a\n  # end\n", value: "{spec: {first: a}}",
			want: "spec:\n  # next\n  first: a\n  # end\n",
			lost: []Note{{Position{2, 3}, "this comment is lost: # what"}, {Position{3, 11}, "this comment is lost: # here"}},
		},
		"a field of another shape": {
			text: "ports: # mail\n  smtp: 25 # plain\n", value: "{ports: [{name: smtp, port: 25}]}",
			want: "ports: # mail\n- name: smtp\n  port: 25\n",
			lost: []Note{{Position{2, 12}, "this comment is lost: # plain"}},
		},
		"an item fewer": {
			text: "spec:\n# one\n- {name: a, b: c} # A\n# two\n- {name: d} # D\n", value: "{spec: [{name: d}]}", want: "spec:\n- name: d\n",
			lost: []Note{{Position{2, 1}, "this comment is lost: # one"}, {Position{3, 19}, "this comment is lost: # A"},
				{Position{4, 1}, "this comment is lost: # two"}, {Position{5, 13}, "this comment is lost: # D"}},
		},
		"another item": {
			text: "spec:\n- name: a # A\n- name: d # D\n- x # X\n", value: "{spec: [{name: d}, {name: d}, w]}", want: "spec:\n- name: d\n- name: d # D\n- w\n",
			lost: []Note{{Position{2, 11}, "this comment is lost: # A"}, {Position{4, 5}, "this comment is lost: # X"}},
		},
		"behind a bracket": {
			text: "spec: [ # a\n  b ]\nkind: x\n", value: "{spec: [b], kind: w}", want: "spec:\n- b\nkind: w\n",
			lost: []Note{{Position{1, 9}, "this comment is lost: # a"}},
		},
		"text is no comment": {
			text: "gone: |\n  # text\nquoted: \"x # y\"\nfirst: it's#x # z\n", value: "{first: it's#x, kind: x}", want: "first: it's#x # z\nkind: x\n",
		},
		"anchors": {
			text: "a: &x {b: c} # one\nd: *x # two\n", value: "{a: {b: c}, d: {b: c}, e: f}", want: "a: # one\n  b: c\nd: # two\n  b: c\ne: f\n",
			lost: []Note{{Position{1, 4}, "the anchor &x is gone: its value is written out in each place"}},
		},
		"CRLF":                {text: "kind: x # a\r\n", value: "{kind: w}", want: "kind: w # a\r\n"},
		"no line end":         {text: "kind: x # a", value: "{kind: w}", want: "kind: w # a\n"},
		"a byte order mark":   {text: "\xef\xbb\xbfkind: x\n", value: "{kind: w}", want: "\xef\xbb\xbfkind: w\n"},
		"markers":             {text: "%YAML 1.1\n--- # a\nkind: x\n...\n# b\n", value: "{kind: w}", want: "%YAML 1.1\n--- # a\nkind: w\n...\n# b\n"},
		"a value at a marker": {text: "--- {kind: x} # a\n", value: "{kind: w}", want: "---\n# a\nkind: w\n"},
		"JSON on one line":    {text: "{\"kind\":\"x\", \"spec\":{}}\n", value: "{kind: w, spec: {first: a}}", want: "{\"kind\":\"w\",\"spec\":{\"first\":\"a\"}}\n"},
		"JSON on several":     {text: "---\n{\n\t\"kind\": \"\\ud83d\\ude00\"\n}", value: "{kind: <y}", want: "---\n{\n  \"kind\": \"<y\"\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, lost := rewrite(t, test.text, test.value)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.lost, lost); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestACommentStaysOrIsNamed: of any document that becomes any other one, each comment is in the new text or named, once, and
// what only looks like a comment is never named.
func TestACommentStaysOrIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := commented{t: t}
		w.mapping("", 0)
		text := w.text.String()
		document, err := Parse(Part{Text: []byte(text), Line: 1})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		seed := rapid.Uint8().Draw(t, "seed")
		to := disturb(document.Root, &seed)
		written, notes, err := document.Rewrite(to)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var named strings.Builder
		for _, n := range notes {
			_, comment, _ := strings.Cut(n.Text, "this comment is lost: ")
			if line := strings.Split(text, "\n")[n.Line-1]; comment != "" && line[n.Column-1:] != comment {
				t.Errorf("line %d, column %d of\n%s\nis not %q", n.Line, n.Column, text, comment)
			}
			named.WriteString(n.Text + "\n")
		}
		for i := range w.comments {
			comment := fmt.Sprintf("# c%d.", i)
			if in := strings.Count(string(written), comment) + strings.Count(named.String(), comment); in != 1 {
				t.Errorf("%q is %d times in\n%s\nand\n%s\nfrom\n%s", comment, in, written, &named, text)
			}
		}
		if strings.Contains(named.String(), "# t") {
			t.Errorf("named as a comment:\n%s\nof\n%s", &named, text)
		}
	})
}

// commented draws documents with comments wherever YAML has them, which are "# c0.", "# c1." and so on, and texts that look
// like comments, which are "# t.".
type commented struct {
	t        *rapid.T
	text     strings.Builder
	comments int
	anchors  int
}

func (w *commented) one(of int) bool { return rapid.IntRange(1, of).Draw(w.t, "one of") == 1 }

func (w *commented) comment() string {
	w.comments++
	return fmt.Sprintf("# c%d.", w.comments-1)
}

// above may write comments on lines of their own, and blank lines.
func (w *commented) above(indent string) {
	for w.one(4) {
		w.text.WriteString(indent + w.comment() + "\n")
		if w.one(4) {
			w.text.WriteString("\n")
		}
	}
}

func (w *commented) endLine() {
	if w.one(3) {
		w.text.WriteString(" " + w.comment())
	}
	w.text.WriteString("\n")
}

func (w *commented) mapping(indent string, depth int) {
	for i, key := range []string{"a", "'on'", "name", "\"# t.\""} {
		if i > 0 && w.one(3) {
			continue
		}
		if i > 0 || depth == 0 { // the first key of an item is on its line
			w.above(indent)
			w.text.WriteString(indent)
		}
		w.text.WriteString(key + ":")
		w.value(indent, depth)
	}
	if w.one(6) {
		w.text.WriteString(indent + w.comment() + "\n")
	}
}

func (w *commented) value(indent string, depth int) {
	kind := rapid.IntRange(0, 9).Draw(w.t, "kind")
	if kind > 7 && depth > 2 {
		kind = 0
	}
	if kind < 8 && kind != 4 && kind != 5 {
		w.text.WriteString(" ")
	}
	switch kind {
	case 0, 1:
		w.text.WriteString([]string{"x", "it's#x", "5", "off", "~"}[rapid.IntRange(0, 4).Draw(w.t, "plain")])
		w.endLine()
	case 2:
		w.text.WriteString([]string{"\"x # t.\"", "\"\\\\\\\" # t.\"", "&q \"x\n" + indent + "  # t.\""}[rapid.IntRange(0, 2).Draw(w.t, "quoted")])
		w.endLine()
	case 3:
		w.text.WriteString([]string{"'x # t.'", "'it''s # t.'", "!!str 'x\n\n" + indent + "  # t.'"}[rapid.IntRange(0, 2).Draw(w.t, "quoted")])
		w.endLine()
	case 4, 5:
		w.text.WriteString([]string{" |", " >-", " &b |+", " !!str\n" + indent + "  >2"}[rapid.IntRange(0, 3).Draw(w.t, "block")])
		w.endLine()
		w.text.WriteString(indent + "  x\n" + indent + "  # t.\n\n" + indent + "  y # t.\n")
	case 6:
		w.text.WriteString("[x, {y: \"# t.\"}]")
		w.endLine()
	case 7:
		w.anchors++
		fmt.Fprintf(&w.text, "&x%d {b: [", w.anchors)
		w.endLine()
		w.text.WriteString(indent + "  c")
		w.endLine()
		w.text.WriteString(indent + "  ]}")
		w.endLine()
	case 8:
		w.endLine()
		w.above(indent + "  ")
		w.text.WriteString(indent + "  z:")
		w.value(indent+"  ", depth+1)
		w.mapping(indent+"  ", 0)
	default:
		w.endLine()
		for range rapid.IntRange(1, 3).Draw(w.t, "items") {
			w.above(indent)
			w.text.WriteString(indent + "- ")
			if w.one(2) {
				w.text.WriteString("x")
				w.endLine()
			} else {
				w.mapping(indent+"  ", depth+1)
			}
		}
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
