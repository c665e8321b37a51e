// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpath reads one field of an object by its path, as a RebootPolicy names it: status.revision, spec.hosts[0], or
// metadata.labels['app.kubernetes.io/version']. There are no expressions, so that a path costs what it is long.
package fieldpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path is one field. A step is the name of a member, or the index of an element.
type Path struct{ steps []any }

// Parse reads a path, which may begin with a dot. The error says what is wrong, and where.
func Parse(text string) (Path, error) {
	var p Path
	rest := text
	if !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") {
		rest = "." + rest
	}
	for rest != "" {
		var step any
		var err error
		switch rest[0] {
		case '.':
			step, rest, err = name(rest[1:])
		case '[':
			step, rest, err = bracket(rest[1:])
		default:
			err = fmt.Errorf("a dot or [ must follow before %q", rest)
		}
		if err != nil {
			return Path{}, err
		}
		p.steps = append(p.steps, step)
	}
	return p, nil
}

// name reads the name of a member up to the next dot or bracket.
func name(text string) (step any, rest string, err error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	found := text[:end]
	if found == "" || strings.ContainsAny(found, " ]'\"*{}@?$") {
		return nil, "", fmt.Errorf("%q is no name of a field: write one that has other characters as ['%s']", found, found)
	}
	return found, text[end:], nil
}

// bracket reads an index, or a name in quotes, and the bracket behind it.
func bracket(text string) (step any, rest string, err error) {
	if quoted, is := strings.CutPrefix(text, "'"); is {
		found, rest, closed := strings.Cut(quoted, "']")
		if !closed || found == "" {
			return nil, "", errors.New("a name in brackets must be written as ['name']")
		}
		return found, rest, nil
	}
	digits, rest, closed := strings.Cut(text, "]")
	index, err := strconv.ParseUint(digits, 10, 31)
	if !closed || err != nil {
		return nil, "", fmt.Errorf("[%s must be an index such as [0], or a name such as ['name']", text)
	}
	return int(index), rest, nil
}

// Get returns the value of the field of an object as JSON decodes it, and whether it has the field. The value is not a copy.
func (p Path) Get(object map[string]any) (value any, found bool) {
	value = object
	for _, step := range p.steps {
		switch at := step.(type) {
		case string:
			members, is := value.(map[string]any)
			if value, found = members[at]; !is || !found {
				return nil, false
			}
		case int:
			elements, is := value.([]any)
			if !is || at >= len(elements) {
				return nil, false
			}
			value = elements[at]
		}
	}
	return value, true
}
