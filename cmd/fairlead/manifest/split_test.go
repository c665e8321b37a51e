// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitFindsDocumentsWhereverTheyBegin(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                {"", nil},
		"one":                    {"a: b", []string{"a: b"}},
		"two":                    {"a: b\n---\nc: d\n", []string{"a: b\n", "---\nc: d\n"}},
		"a comment before":       {"# x\n---\na: b\n", []string{"# x\n", "---\na: b\n"}},
		"a comment at a marker":  {"a: b\n--- # x\nc: d\n", []string{"a: b\n", "--- # x\nc: d\n"}},
		"a directive":            {"%YAML 1.1\n# x\n---\na: b\n---\nc: d\n", []string{"%YAML 1.1\n# x\n---\na: b\n", "---\nc: d\n"}},
		"an end":                 {"a: b\n...\n# x\n---\nc: d\n", []string{"a: b\n...\n", "# x\n", "---\nc: d\n"}},
		"CRLF":                   {"a: b\r\n---\r\nc: d\r\n", []string{"a: b\r\n", "---\r\nc: d\r\n"}},
		"dashes that are text":   {"a: |\n  ---\n----\n---x\n", []string{"a: |\n  ---\n----\n---x\n"}},
		"a byte order mark":      {"\xef\xbb\xbf---\na: b\n", []string{"\xef\xbb\xbf---\na: b\n"}},
		"JSON":                   {"{\"a\":1} {\"b\":2}\n\n{\"c\":3}\n", []string{"{\"a\":1}", " {\"b\":2}", "\n\n{\"c\":3}\n"}},
		"JSON between markers":   {"{\"a\":1}\n---\n{\"b\":2}\n", []string{"{\"a\":1}\n", "---\n{\"b\":2}\n"}},
		"JSON after a marker":    {"--- # x\n{\"a\":1}\n{\"b\":2}\n---\n{\"c\":3}", []string{"--- # x\n{\"a\":1}", "\n{\"b\":2}\n", "---\n{\"c\":3}"}},
		"content at a marker":    {"a: b\n--- {c: d}\n--- |\n  x\n", []string{"a: b\n", "--- {c: d}\n", "--- |\n  x\n"}},
		"a list of JSON":         {"[{\"a\":1}] [2]\n", []string{"[{\"a\":1}] [2]\n"}},
		"JSON with a fault":      {"{\"a\":1} {\"b\"\n---\nc: d\n", []string{"{\"a\":1} {\"b\"\n", "---\nc: d\n"}},
		"a flow mapping is YAML": {"{a: 1}\n---\nb: 2\n", []string{"{a: 1}\n", "---\nb: 2\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			parts, err := Split([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			line := 1
			for _, part := range parts {
				if part.Line != line {
					t.Errorf("%q begins at line %d, not %d", part.Text, line, part.Line)
				}
				line += strings.Count(string(part.Text), "\n")
				got = append(got, string(part.Text))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplitRefusesWhatIsNoManifest(t *testing.T) {
	for name, text := range map[string]string{
		"UTF-16":             "\xff\xfea\x00",
		"too many documents": strings.Repeat("---\n", maxParts+2),
	} {
		if parts, err := Split([]byte(text)); err == nil {
			t.Errorf("%s: %d documents", name, len(parts))
		}
	}
}

func FuzzPartsAreTheText(f *testing.F) {
	for _, seed := range []string{"a: b\n---\nc: d", "%YAML 1.1\n---\na\n...\n---", "\xef\xbb\xbf{\"a\":1}{\"b\":2}", "---\n---\n--- x\r\n...", "{\"a\":1}\n---\n{\"b\":2} {\"c\":3}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		parts, err := Split(text)
		if err != nil {
			return
		}
		var again []byte
		for _, part := range parts {
			if line := 1 + bytes.Count(again, []byte("\n")); part.Line != line {
				t.Errorf("%q is said to be in line %d, and begins in line %d", part.Text, part.Line, line)
			}
			again = append(again, part.Text...)
		}
		if !bytes.Equal(again, text) {
			t.Errorf("%q became %q", text, again)
		}
	})
}
