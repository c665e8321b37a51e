// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"strconv"
	"strings"
)

// match reports whether a path begins with a pattern, and returns what is behind it and the indexes that
// "[*]" stands for.
func match(path, pattern string) (rest string, indexes []int, ok bool) {
	for {
		part, more, starred := strings.Cut(pattern, "[*]")
		path, ok = strings.CutPrefix(path, part)
		if !ok {
			return "", nil, false
		}
		if !starred {
			return path, indexes, path == "" || path[0] == '.' || path[0] == '['
		}
		inside, behind, closed := strings.Cut(path, "]")
		number, open := strings.CutPrefix(inside, "[")
		i, err := strconv.Atoi(number)
		if !closed || !open || err != nil || i < 0 {
			return "", nil, false
		}
		indexes = append(indexes, i)
		path, pattern = behind, more
	}
}

// find returns the value at a path. Keys may have dots themselves, so that the longest one that the
// path begins with is meant.
func find(value any, path string) (any, bool) {
	for path != "" {
		switch at := value.(type) {
		case []any:
			inside, behind, closed := strings.Cut(path, "]")
			i, err := strconv.Atoi(strings.TrimPrefix(inside, "["))
			if !closed || err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			value, path = at[i], behind
		case map[string]any:
			key, behind := member(at, path)
			if key == "" {
				return nil, false
			}
			value, path = at[key], behind
		default:
			return nil, false
		}
	}
	return value, true
}

// member returns the longest key of an object that a path begins with, and what is behind it.
func member(object map[string]any, path string) (best, rest string) {
	inside, bracket := strings.CutPrefix(path, "[")
	if !bracket {
		inside = strings.TrimPrefix(path, ".")
	}
	for key := range object {
		behind, begins := strings.CutPrefix(inside, key)
		if bracket && begins {
			behind, begins = strings.CutPrefix(behind, "]")
		}
		ends := behind == "" || behind[0] == '.' || behind[0] == '['
		if begins && ends && len(key) > len(best) {
			best, rest = key, behind
		}
	}
	return best, rest
}
