// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth bounds how deep values nest. No CRD knows an object half as deep.
	maxDepth = 512
	// maxValues bounds the values of a document, and maxAliased those that its aliases stand for.
	maxValues  = 1 << 20
	maxAliased = 100_000
)

var (
	errTooDeep = fmt.Errorf("values nest deeper than %d", maxDepth)
	errTooMany = fmt.Errorf("more than %d values", maxValues)
)

// Reading is one value of a part, or the reason why it cannot be read.
type Reading struct {
	Root *Node
	Err  *Problem

	json bool // written in JSON
}

// Read reads the values of a part: one, or several of JSON one after the other.
func Read(p Part) []Reading {
	p = p.body()
	text := bytes.TrimLeft(p.Text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return readYAML(p)
	}
	values := readJSON(p)
	if readable(values) {
		return values
	}
	// A mapping of YAML may begin in the same way.
	if other := readYAML(p); readable(other) || !looksLikeJSON(text) {
		return other
	}
	return values
}

func readable(values []Reading) bool {
	for i := range values {
		if values[i].Err != nil {
			return false
		}
	}
	return true
}

// looksLikeJSON reports whether a text is like JSON beyond its first character.
func looksLikeJSON(text []byte) bool {
	next := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(next) > 0 && (next[0] == '"' || text[0] == '[' && (next[0] == '{' || next[0] == '['))
}

func readYAML(p Part) []Reading {
	var values []Reading
	for decoder := yaml.NewDecoder(bytes.NewReader(p.Text)); ; {
		document, err := decodeDocument(decoder)
		switch {
		case errors.Is(err, io.EOF):
			return values
		case err != nil:
			return append(values, Reading{Err: syntaxError(p, err)})
		case len(document.Content) == 0:
			continue
		}
		b := builder{above: p.Line - 1}
		node := b.node(document.Content[0], 0)
		values = append(values, Reading{Root: node, Err: b.err})
	}
}

// decodeDocument returns the next document, which has no content where it is empty.
func decodeDocument(decoder *yaml.Decoder) (document *yaml.Node, err error) {
	defer recovered(&err)
	document = new(yaml.Node)
	return document, decoder.Decode(document)
}

// recovered returns a panic of a YAML library as an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("not YAML: %v", p)
	}
}

var (
	lineOfError = regexp.MustCompile(`^line ([0-9]+): `)
	// oneBefore matches the library's messages whose line number is one too low.
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
		if column := tabColumn(p, number); column > 0 && (number == problem.Line || strings.Contains(message, "tab")) {
			problem.Position, problem.Message = Position{number, column}, "not YAML: a tab indents this line, and YAML takes spaces alone"
			break
		}
	}
	return problem
}

// tabColumn returns the column of a tab in the indentation of a line of the file; 0 where there is none.
func tabColumn(p Part, number int) int {
	at := p.Line
	for line := range bytes.Lines(p.Text) {
		if at == number {
			return bytes.IndexByte(line[:len(line)-len(bytes.TrimLeft(line, " \t"))], '\t') + 1
		}
		at++
	}
	return 0
}

// builder makes Nodes of those of the YAML library.
type builder struct {
	above   int // lines of the file above the part
	inAlias int // how many aliases lead to the current node
	values  int
	aliased int
	err     *Problem
}

func (b *builder) node(from *yaml.Node, depth int) *Node {
	n := &Node{Position: b.at(from)}
	if b.err != nil {
		return n
	}
	if b.values++; b.inAlias > 0 {
		b.aliased++
	}
	switch {
	case depth > maxDepth:
		b.fail(from, errTooDeep.Error()+"; does an alias hold itself?")
	case b.aliased > maxAliased:
		b.fail(from, fmt.Sprintf("the aliases of this document expand to more than %d values; write the values out, in several files", maxAliased))
	case b.values > maxValues:
		b.fail(from, errTooMany.Error())
	case from.Kind == yaml.AliasNode:
		b.inAlias++
		n = b.node(from.Alias, depth+1) // with its position: problems are corrected where the value is written
		b.inAlias--
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
	index := make(map[string]int, len(from.Content)/2)
	given := make(map[string]Position, len(from.Content)/2) // unlike members that a merge key brings
	for i := 0; i+1 < len(from.Content); i += 2 {
		name, value := from.Content[i], from.Content[i+1]
		if name.Kind == yaml.ScalarNode && name.Tag == "!!merge" {
			b.merge(n, index, value, depth)
			continue
		}
		key, ok := b.key(name)
		if !ok {
			n.Problems = append(n.Problems, Problem{Position: b.at(name), Rule: "syntax", Message: "a key must be a string"})
			continue
		}
		m := Member{Position: b.at(name), Key: key, Value: b.node(value, depth+1)}
		if first, twice := given[key]; twice {
			n.Problems = append(n.Problems, duplicateKey(m, first))
		} else {
			given[key] = m.Position
		}
		n.set(index, m)
	}
}

// set adds a member. Of a key that is given twice the last one counts, as it does for kubectl.
func (n *Node) set(index map[string]int, m Member) {
	if i, has := index[m.Key]; has {
		n.Members[i] = m
		return
	}
	index[m.Key] = len(n.Members)
	n.Members = append(n.Members, m)
}

func duplicateKey(m Member, first Position) Problem {
	return Problem{Position: m.Position, Rule: "duplicate-key", Key: m.Key,
		Message: fmt.Sprintf("is given twice, first in line %d; remove one of them", first.Line)}
}

// merge adds the members of "<<". As for kubectl, they override members above it, and of several mappings
// the first one counts.
func (b *builder) merge(n *Node, index map[string]int, value *yaml.Node, depth int) {
	merged := b.node(value, depth+1)
	sources := []*Node{merged}
	if merged.Kind == Sequence {
		sources = merged.Items
	}
	taken := map[string]bool{}
	for _, source := range sources {
		if source.Kind != Mapping {
			n.Problems = append(n.Problems, Problem{Position: b.at(value), Rule: "syntax", Message: "<< merges mappings alone"})
			continue
		}
		for _, m := range source.Members {
			if !taken[m.Key] {
				taken[m.Key] = true
				n.set(index, m)
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
	case json.Number:
		if number, ok := parseNumber(value).(float64); ok {
			return strconv.FormatFloat(number, 'g', -1, 32), true
		}
		return value.String(), true
	}
	return "", false
}

func (b *builder) scalar(n *Node, from *yaml.Node) {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case from.Style&yaml.TaggedStyle != 0:
		n.Value = b.tagged(n, from)
	case from.Style&quotes == 0:
		n.Value = resolve(from.Value)
	default:
		n.Value = from.Value
	}
	if _, ok := n.Value.(float64); ok {
		n.Problems = append(n.Problems, Problem{Position: n.Position, Rule: "syntax", Message: from.Value + " cannot be written in JSON"})
		n.Value = nil
	}
}

// tagged returns a scalar with an explicit type.
func (b *builder) tagged(n *Node, from *yaml.Node) any {
	value := resolve(from.Value)
	number, isNumber := value.(json.Number)
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
		_, ok = parseNumber(number).(int64)
	case "!!float":
		_, isFloat := value.(float64)
		ok = isNumber || isFloat
	}
	if !ok {
		n.Problems = append(n.Problems, Problem{Position: n.Position, Rule: "syntax",
			Message: fmt.Sprintf("%.40q is no value of type %.40s", from.Value, from.ShortTag())})
	}
	return value
}

var (
	// number is how a plain scalar must begin to be one.
	number = regexp.MustCompile(`^[-+]?(\.?[0-9])`)
	// decimal is a number with a point or an exponent.
	decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolve returns what a plain scalar means in YAML 1.1 as kubectl reads it. A number that JSON does not
// have is a float64.
func resolve(plain string) any {
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	}
	if !number.MatchString(plain) {
		return plain
	}
	digits := strings.ReplaceAll(plain, "_", "")
	if plain[0] == '.' {
		digits = plain
	} else {
		if whole, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return json.Number(strconv.FormatInt(whole, 10))
		}
		if whole, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return json.Number(strconv.FormatUint(whole, 10))
		}
	}
	if decimal.MatchString(digits) {
		if value, err := strconv.ParseFloat(digits, 64); err == nil {
			if raw, err := json.Marshal(value); err == nil { // 5.0 as 5, and 1e21 as it is
				return json.Number(raw)
			}
		}
	}
	return plain
}
