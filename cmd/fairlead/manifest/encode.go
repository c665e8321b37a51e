// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// member returns the lines of a member that is written again.
func (e *editor) member(name string, n *Node, indent int) ([]string, bool) {
	return e.encode(&Node{Kind: Mapping, Members: []Member{{Key: name, Value: n}}}, indent)
}

// encode returns the lines of a node.
func (e *editor) encode(n *Node, indent int) ([]string, bool) {
	var moved []*movedValue
	node := e.yamlNode(n, &moved)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(e.step)
	encoder.CompactSeqIndent()
	if e.dashStep > 0 {
		encoder.DefaultSeqIndent()
	}
	if encoder.Encode(node) != nil || encoder.Close() != nil {
		return nil, false
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" {
			line = strings.Repeat(" ", indent) + line
		}
		if len(moved) > 0 && strings.HasSuffix(line, ": "+moved[0].placeholder()) {
			lines = append(lines, strings.TrimSuffix(line, " "+moved[0].placeholder())+e.eol)
			lines = append(lines, e.movedLines(moved[0], line)...)
			moved = moved[1:]
			continue
		}
		lines = append(lines, line+e.eol)
	}
	return lines, len(moved) == 0
}

// yamlNode returns what to encode for a node, in the style that its parts have in the text.
func (e *editor) yamlNode(n *Node, moved *[]*movedValue) *yaml.Node {
	switch n.Kind {
	case Mapping:
		out := &yaml.Node{Kind: yaml.MappingNode, Style: flowStyle(n)}
		for i := range n.Members {
			m := &n.Members[i]
			out.Content = append(out.Content, scalarNode(m.Key), e.child(m.Value, out.Style == 0, moved))
		}
		return out
	case Sequence:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: flowStyle(n)}
		for _, item := range n.Items {
			out.Content = append(out.Content, e.child(item, false, moved))
		}
		return out
	}
	if n.layout != nil && n.layout.Kind == yaml.ScalarNode {
		return &yaml.Node{Kind: yaml.ScalarNode, Style: n.layout.Style, Tag: n.layout.Tag, Value: n.layout.Value}
	}
	return scalarNode(n.Value)
}

func (e *editor) child(n *Node, belowKey bool, moved *[]*movedValue) *yaml.Node {
	v := e.findMoved(n)
	switch {
	case v == nil:
	case v.flow != nil:
		return withoutComments(v.flow)
	case belowKey:
		*moved = append(*moved, v)
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.placeholder()}
	default:
		v.used = false
	}
	return e.yamlNode(n, moved)
}

func flowStyle(n *Node) yaml.Style {
	if n.layout == nil {
		return 0
	}
	return n.layout.Style & yaml.FlowStyle
}

// withoutComments copies a node without its comments, which the editor moves by itself.
func withoutComments(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	for _, child := range n.Content {
		out.Content = append(out.Content, withoutComments(child))
	}
	return out
}

// scalarNode quotes what kubectl would not read as the same text: yes and off are booleans there.
func scalarNode(value any) *yaml.Node {
	var n yaml.Node
	switch value := value.(type) {
	case string:
		if neverQuoted(value) {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
		}
		if n.Encode(value) != nil {
			return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Tag: "!!str", Value: value}
		}
		if n.Style == 0 {
			raw, err := kyaml.YAMLToJSON([]byte(value))
			var again any
			if err != nil || json.Unmarshal(raw, &again) != nil || again != any(value) {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
		return &n
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// neverQuoted reports whether a text is itself in every version of YAML, as most texts are. Checking the
// others takes a parser.
func neverQuoted(text string) bool {
	for i, c := range []byte(text) {
		switch letter := c|0x20 >= 'a' && c|0x20 <= 'z'; {
		case letter:
		case i == 0 || (c < '0' || c > '9') && c != '-' && c != '.' && c != '/' && c != '_':
			return false
		}
	}
	switch strings.ToLower(text) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}
