// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds how many values the aliases of a document may stand for.
const maxExpanded = 100_000

func readYAMLNodes(p Part) []Reading {
	var values []Reading
	for decoder := yaml.NewDecoder(bytes.NewReader(p.Text)); ; {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			return append(values, Reading{Err: syntaxError(p, err)})
		}
		if len(root.Content) == 0 {
			continue
		}
		b := builder{above: p.Line - 1}
		node := b.node(root.Content[0], 0)
		values = append(values, Reading{Root: node, Err: b.err})
	}
}

var (
	lineOfError = regexp.MustCompile(`^line ([0-9]+): `)
	// oneBefore are the messages of which the library names the line before.
	oneBefore = regexp.MustCompile(`^(did not find expected (<.*>|node content|'-' indicator|key|',' or '[]}]')|found undefined tag handle|found duplicate %)`)
)

func syntaxError(p Part, err error) *Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	problem := &Problem{Position: Position{p.Line, 1}, Rule: "syntax"}
	if found := lineOfError.FindStringSubmatch(message); found != nil {
		message = message[len(found[0]):]
		if line, err := strconv.Atoi(found[1]); err == nil {
			if oneBefore.MatchString(message) {
				line++
			}
			problem.Line = p.Line + min(line-1, bytes.Count(bytes.TrimRight(p.Text, "\n"), []byte("\n")))
		}
	}
	problem.Message = "not YAML: " + message
	for _, number := range []int{problem.Line, problem.Line + 1} { // the library names either
		if column := tabbed(p, number); column > 0 && (number == problem.Line || strings.Contains(message, "tab")) {
			problem.Position, problem.Message = Position{number, column}, "not YAML: a tab indents this line, and YAML takes spaces alone"
			break
		}
	}
	return problem
}

// tabbed returns the column of a tab in the indentation of a line of the file; 0 where there is none.
func tabbed(p Part, number int) int {
	at := p.Line
	for line := range bytes.Lines(p.Text) {
		if at == number {
			return bytes.IndexByte(line[:len(line)-len(bytes.TrimLeft(line, " \t"))], '\t') + 1
		}
		at++
	}
	return 0
}

// builder makes nodes of those of the YAML library.
type builder struct {
	above    int // lines of the file above the part
	aliased  int // how many aliases the node at hand is inside of
	expanded int
	err      *Problem
}

func (b *builder) node(from *yaml.Node, depth int) *Node {
	n := &Node{Position: b.at(from)}
	if b.err != nil {
		return n
	}
	if b.aliased > 0 {
		b.expanded++
	}
	switch {
	case depth > maxNesting:
		b.fail(from, fmt.Sprintf("values nest deeper than %d; does an alias hold itself?", maxNesting))
	case b.expanded > maxExpanded:
		b.fail(from, fmt.Sprintf("the aliases of this document stand for more than %d values; write them out in files of their own", maxExpanded))
	case from.Kind == yaml.AliasNode:
		b.aliased++
		target := b.node(from.Alias, depth+1)
		b.aliased--
		// A fault in there is seen best where it is written, and so are fields.
		return target
	case from.Kind == yaml.MappingNode:
		n.Kind = Mapping
		b.mapping(n, from, depth)
	case from.Kind == yaml.SequenceNode:
		n.Kind = Sequence
		n.Items = make([]*Node, 0, len(from.Content))
		for _, item := range from.Content {
			n.Items = append(n.Items, b.node(item, depth+1))
		}
	default:
		b.scalar(n, from)
	}
	return n
}

func (b *builder) at(from *yaml.Node) Position { return Position{b.above + from.Line, from.Column} }

func (b *builder) fail(from *yaml.Node, message string) {
	b.err = &Problem{Position: b.at(from), Rule: "syntax", Message: message}
}

func (b *builder) mapping(n *Node, from *yaml.Node, depth int) {
	n.Members = make([]Member, 0, len(from.Content)/2)
	seen := make(map[string]int, len(from.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(from.Content); i += 2 {
		name, value := from.Content[i], from.Content[i+1]
		if name.Kind == yaml.ScalarNode && name.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		key, ok := b.key(name)
		if !ok {
			n.Problems = append(n.Problems, Problem{Position: b.at(name), Rule: "syntax", Message: "a key must be a string"})
			continue
		}
		m := Member{Position: b.at(name), Key: key, Value: b.node(value, depth+1)}
		if first, twice := seen[key]; twice {
			n.Problems = append(n.Problems, Problem{Position: m.Position, Rule: "duplicate-key", Key: key,
				Message: fmt.Sprintf("is given twice, first in line %d; remove one of them", n.Members[first].Line)})
			n.Members[first] = m // the last one counts, as it does for kubectl
			continue
		}
		seen[key] = len(n.Members)
		n.Members = append(n.Members, m)
	}
	for _, value := range merges {
		b.merge(n, seen, value, depth)
	}
}

// merge adds the members of "<<" that are not given otherwise.
func (b *builder) merge(n *Node, seen map[string]int, value *yaml.Node, depth int) {
	merged := b.node(value, depth+1)
	sources := []*Node{merged}
	if merged.Kind == Sequence {
		sources = merged.Items
	}
	for _, source := range sources {
		if source.Kind != Mapping {
			n.Problems = append(n.Problems, Problem{Position: b.at(value), Rule: "syntax", Message: "<< merges mappings alone"})
			continue
		}
		for _, m := range source.Members {
			if _, has := seen[m.Key]; !has {
				seen[m.Key] = len(n.Members)
				n.Members = append(n.Members, m)
			}
		}
	}
}

// key returns a key as the string that it becomes in JSON.
func (b *builder) key(name *yaml.Node) (string, bool) {
	if name.Kind == yaml.AliasNode {
		name = name.Alias
	}
	if name.Kind != yaml.ScalarNode {
		return "", false
	}
	var key Node
	b.scalar(&key, name)
	switch value := key.Value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case int64:
		return strconv.FormatInt(value, 10), true
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 32), true
	}
	return "", false
}

func (b *builder) scalar(n *Node, from *yaml.Node) {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	plain := from.Style&quotes == 0
	if from.Style&yaml.TaggedStyle == 0 {
		n.Value = from.Value
		if plain {
			n.Value = resolve(from.Value)
		}
	} else {
		n.Value = b.tagged(n, from)
	}
	if number, ok := n.Value.(float64); ok && (number-number != 0) {
		n.Problems = append(n.Problems, Problem{Position: n.Position, Rule: "syntax", Message: from.Value + " cannot be written in JSON"})
		n.Value = nil
	}
}

// tagged returns a scalar that says its own type.
func (b *builder) tagged(n *Node, from *yaml.Node) any {
	value := resolve(from.Value)
	ok := false
	switch from.ShortTag() {
	case "!!str", "!!timestamp":
		return from.Value
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(from.Value), ""))
		if err == nil {
			return string(data)
		}
	case "!!null":
		ok = value == nil
	case "!!bool":
		_, ok = value.(bool)
	case "!!int":
		_, ok = value.(int64)
	case "!!float":
		_, isInt := value.(int64)
		_, isFloat := value.(float64)
		ok = isInt || isFloat
	}
	if !ok {
		n.Problems = append(n.Problems, Problem{Position: n.Position, Rule: "syntax",
			Message: fmt.Sprintf("%.40q is no value of type %.40s", from.Value, from.ShortTag())})
	}
	return value
}
