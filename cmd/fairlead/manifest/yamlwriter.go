// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// YAML returns the node as YAML, in its order.
func (n *Node) YAML() ([]byte, error) {
	_, text, err := n.yamlLike(nil)
	return text, err
}

// yamlLike returns the node as YAML, with the comments of the fields that a document has too. Should the library write
// comments so that the text has another value, then it is without any.
func (n *Node) yamlLike(from *yaml.Node) (document *yaml.Node, text []byte, err error) {
	for _, commented := range []*yaml.Node{from, nil} {
		document = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{n.layout()}}
		if commented != nil {
			copyComments(commented, document)
			settleComments(document)
		}
		if text, err = encode(document); err != nil {
			continue
		}
		if again, err := kubectlValue(text); err == nil && n.is(again) {
			return document, text, nil
		}
	}
	return nil, nil, errUnwritable
}

func encode(n *yaml.Node) (text []byte, err error) {
	defer recovered(&err)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	err = encoder.Close()
	return out.Bytes(), err
}

// layout returns what to encode for a node.
func (n *Node) layout() *yaml.Node {
	switch n.Kind {
	case Mapping:
		out := &yaml.Node{Kind: yaml.MappingNode}
		for i := range n.Members {
			out.Content = append(out.Content, scalarNode(n.Members[i].Key), n.Members[i].Value.layout())
		}
		return out
	case Sequence:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items {
			out.Content = append(out.Content, item.layout())
		}
		return out
	}
	return scalarNode(n.Value)
}

// scalarNode quotes what kubectl would not read as the same text: yes and off are booleans there.
func scalarNode(value any) *yaml.Node {
	var n yaml.Node
	switch value := value.(type) {
	case string:
		if n.Encode(value) != nil || n.Style == 0 && resolve(value) != any(value) {
			n = yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Tag: "!!str", Value: value}
		}
		return &n
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// copyComments copies the comments and quotes of one document to the same fields of another. The target of an alias has its
// comments where it is written.
func copyComments(from, to *yaml.Node) {
	to.HeadComment, to.LineComment, to.FootComment = from.HeadComment, from.LineComment, from.FootComment
	if from.Kind != to.Kind {
		return
	}
	switch from.Kind {
	case yaml.ScalarNode:
		const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
		if from.Value == to.Value && from.Style&quoted != 0 && to.Style&^quoted == 0 && to.ShortTag() == "!!str" {
			to.Style = from.Style & quoted
		}
	case yaml.MappingNode:
		keys := make(map[string]int, len(to.Content)/2)
		for i := 0; i+1 < len(to.Content); i += 2 {
			keys[to.Content[i].Value] = i
		}
		for i := 0; i+1 < len(from.Content); i += 2 {
			if at, has := keys[from.Content[i].Value]; has {
				copyComments(from.Content[i], to.Content[at])
				copyComments(from.Content[i+1], to.Content[at+1])
			}
		}
	default:
		if len(from.Content) != len(to.Content) {
			return // which items are gone is not known
		}
		for i := range from.Content {
			if sameItem(from.Content[i], to.Content[i]) {
				copyComments(from.Content[i], to.Content[i])
			}
		}
	}
}

// sameItem reports whether two items are the same one: by their value where they are scalars, and by their names.
func sameItem(a, b *yaml.Node) bool {
	if a.Kind == yaml.AliasNode || a.Kind != b.Kind || a.Kind == yaml.ScalarNode {
		return a.Value == b.Value
	}
	return nameOf(a) == nameOf(b)
}

func nameOf(n *yaml.Node) string {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// settleComments moves the comment behind a key or a value to where the library writes it on the same line: behind a key
// whose value begins below it, behind any other value, and above an item of several lines.
func settleComments(n *yaml.Node) {
	for i, child := range n.Content {
		settleComments(child)
		below := len(child.Content) > 0
		if n.Kind != yaml.MappingNode {
			if below {
				child.HeadComment, child.LineComment = joinComments(child.HeadComment, child.LineComment), ""
			}
			continue
		}
		if i%2 == 0 {
			continue
		}
		key := n.Content[i-1]
		holder, other := child, key
		if below {
			holder, other = key, child
		}
		if holder.LineComment == "" {
			holder.LineComment, other.LineComment = other.LineComment, ""
		}
		key.HeadComment, other.LineComment = joinComments(key.HeadComment, other.LineComment), ""
	}
}

func joinComments(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// lost notes the comments and anchors of a document, decoded from a body, that its next form and text do not have.
func lost(from *yaml.Node, body string, to *yaml.Node, written string) (notes []Note) {
	visit(from, func(n *yaml.Node) {
		if n.Kind != yaml.AliasNode && n.Anchor != "" {
			text := fmt.Sprintf("the anchor &%s is gone: its value is written out in each place", n.Anchor)
			notes = append(notes, Note{Position{n.Line, n.Column}, text})
		}
	})
	kept, seen := map[string]int{}, map[string]int{}
	visit(to, func(n *yaml.Node) { countComments(kept, n) })
	countHashes(seen, written)
	lines := lineStarts(body)
	texts := quotedSpans(from, body, lines)
	for i, start := range lines[:len(lines)-1] {
		line := body[start:lines[i+1]]
		for _, at := range hashes(line) {
			before := sort.Search(len(texts), func(i int) bool { return texts[i].begin > start+at }) - 1
			if before >= 0 && texts[before].end > start+at {
				continue
			}
			text := trimmed(line[at:])
			kept[text]--
			seen[text]--
			if kept[text] < 0 || seen[text] < 0 {
				notes = append(notes, Note{Position{i + 1, utf8.RuneCountInString(line[:at]) + 1}, fmt.Sprintf("this comment is lost: %.200s", text)})
			}
			break
		}
	}
	sort.SliceStable(notes, func(i, j int) bool { return notes[i].Line < notes[j].Line })
	return notes
}

// lineBreak matches a line break of YAML 1.1, as the library counts lines.
var lineBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// lineStarts returns where the lines of a text begin, and where it ends.
func lineStarts(text string) []int {
	starts := []int{0}
	for _, at := range lineBreak.FindAllStringIndex(text, -1) {
		starts = append(starts, at[1])
	}
	return append(starts, len(text))
}

// span is a part of a text, in bytes.
type span struct{ begin, end int }

// properties are the anchor and the type that a node begins with.
var properties = regexp.MustCompile(`^([&!]\S*\s+)*`)

// quotedSpans returns where quotes and blocks have their text, in which # begins no comment.
func quotedSpans(from *yaml.Node, body string, lines []int) (found []span) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
	visit(from, func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Style&(quoted|yaml.LiteralStyle|yaml.FoldedStyle) == 0 || n.Line < 1 || n.Line >= len(lines) {
			return
		}
		at := lines[n.Line-1]
		for range n.Column - 1 {
			_, size := utf8.DecodeRuneInString(body[at:])
			at += size
		}
		at += len(properties.FindString(body[at:]))
		switch {
		case at >= len(body):
		case n.Style&quoted != 0:
			found = append(found, span{at, endOfQuotes(body, at)})
		case strings.Trim(n.Value, " \n") != "":
			found = append(found, blockSpan(n.Value, body, lines[sort.SearchInts(lines, at+1)-1:]))
		}
	})
	return found
}

func endOfQuotes(body string, begin int) int {
	for at := begin + 1; at < len(body); at++ {
		switch {
		case body[begin] == '"' && body[at] == '\\':
			at++
		case body[begin] == '\'' && strings.HasPrefix(body[at:], "''"):
			at++
		case body[at] == body[begin]:
			return at
		}
	}
	return len(body)
}

// blockSpan returns the lines of a block, given its value and those from its header on. The first line with content may be
// indented further than the block.
func blockSpan(value, body string, lines []int) span {
	first := strings.TrimLeft(value, "\n")
	further, indent := len(first)-len(strings.TrimLeft(first, " ")), -1
	for i := 1; i+1 < len(lines); i++ {
		line := body[lines[i]:lines[i+1]]
		content := strings.TrimLeft(line, " ")
		if trimmed(content) == "" {
			continue
		}
		if indent < 0 {
			indent = len(line) - len(content) - further
		}
		if len(line)-len(content) < indent {
			return span{lines[1], lines[i]}
		}
	}
	return span{lines[1], len(body)}
}

// maxHashes bounds the places of a line that are looked at.
const maxHashes = 100

// hashes returns where in a line a comment may begin.
func hashes(line string) (found []int) {
	for at := 0; at < len(line) && len(found) < maxHashes; at++ {
		if line[at] == '#' && (at == 0 || line[at-1] == ' ' || line[at-1] == '\t') {
			found = append(found, at)
		}
	}
	return found
}

func countHashes(counts map[string]int, text string) {
	for line := range strings.Lines(text) {
		for _, at := range hashes(line) {
			counts[trimmed(line[at:])]++
		}
	}
}

func trimmed(comment string) string { return strings.TrimRight(comment, " \t\r\n") }

func countComments(counts map[string]int, n *yaml.Node) {
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.SplitSeq(comment, "\n") {
			if line = trimmed(strings.TrimLeft(line, " \t")); line != "" {
				counts[line]++
			}
		}
	}
}

// visit calls f with a node and all below it, in the order of the text. It does not follow aliases.
func visit(n *yaml.Node, f func(*yaml.Node)) {
	f(n)
	for _, child := range n.Content {
		visit(child, f)
	}
}
