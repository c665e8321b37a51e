// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// positions are the lines of a file's fields, by path such as "webhook.tls.minVersion".
type positions map[string]int

// locate finds the line of every field. A file that does not parse has none; the decoder that
// comes after says what is wrong with it.
func locate(content []byte) positions {
	found := positions{}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return found
	}
	for _, root := range document.Content {
		found.walk("", root)
	}
	return found
}

// walk visits mappings and sequences. It does not follow aliases, so it ends on any document.
func (p positions) walk(path string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			field := key.Value
			if path != "" {
				field = path + "." + field
			}
			p[field] = key.Line
			p.walk(field, value)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			element := fmt.Sprintf("%s[%d]", path, i)
			p[element] = item.Line
			p.walk(element, item)
		}
	}
}

// at returns "file:line" of a field, or the file alone where the line is not known.
func (p positions) at(file, field string) string {
	if line, ok := p[field]; ok {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}
