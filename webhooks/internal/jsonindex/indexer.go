// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonindex

import (
	"unicode/utf16"
	"unicode/utf8"
)

// indexer reads JSON by the letter (RFC 8259, and UTF-8 alone), and records where values are. Its
// functions take the place to begin at and answer the one to go on from, or -1 after fail.
type indexer struct {
	json   []byte
	tokens []token
	failed int
	reason string
}

func (i *indexer) fail(at int, reason string) int {
	i.failed, i.reason = at, reason
	return -1
}

// at returns a byte; 0, which is nowhere allowed, behind the end.
func (i *indexer) at(at int) byte {
	if at < len(i.json) {
		return i.json[at]
	}
	return 0
}

func (i *indexer) space(at int) int {
	for at < len(i.json) && i.json[at] <= ' ' && blank(i.json[at]) {
		at++
	}
	return at
}

func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

func (i *indexer) value(at, depth int) int {
	switch i.at(at) {
	case '"':
		return i.text(at)
	case '{', '[':
		return i.container(at, depth)
	case 't':
		return i.word(at, "true")
	case 'f':
		return i.word(at, "false")
	case 'n':
		return i.word(at, "null")
	}
	return i.number(at)
}

func (i *indexer) container(begin, depth int) int {
	if depth == maxDepth {
		return i.fail(begin, "the JSON is nested too deeply")
	}
	self, size, object, end := len(i.tokens), 0, i.json[begin] == '{', i.json[begin]+2
	i.tokens = append(i.tokens, token{})
	at := i.space(begin + 1)
	for i.at(at) != end {
		if size > 0 {
			if i.at(at) != ',' {
				return i.fail(at, "")
			}
			at = i.space(at + 1)
		}
		if object {
			if at = i.name(at); at < 0 {
				return -1
			}
		}
		if at = i.value(at, depth+1); at < 0 {
			return -1
		}
		if len(i.tokens) > maxTokens+len(i.json)/bytesPerToken {
			return i.fail(at, "the JSON has too many values for its size")
		}
		at = i.space(at)
		size++
	}
	at++
	i.tokens[self] = token{begin: int32(begin), end: int32(at), next: int32(len(i.tokens)), size: int32(size)}
	return at
}

// name reads the name of a member, and the colon.
func (i *indexer) name(at int) int {
	if i.at(at) != '"' {
		return i.fail(at, "")
	}
	if at = i.text(at); at < 0 {
		return -1
	}
	if at = i.space(at); i.at(at) != ':' {
		return i.fail(at, "")
	}
	return i.space(at + 1)
}

func (i *indexer) note(begin, end, size int) int {
	i.tokens = append(i.tokens, token{begin: int32(begin), end: int32(end), next: int32(len(i.tokens) + 1), size: int32(size)})
	return end
}

func (i *indexer) word(at int, word string) int {
	for n := range len(word) {
		if i.at(at+n) != word[n] {
			return i.fail(at+n, "")
		}
	}
	return i.note(at, at+len(word), 0)
}

func (i *indexer) number(begin int) int {
	at := begin
	if i.at(at) == '-' {
		at++
	}
	if i.at(at) == '0' {
		at++
	} else if at = i.digits(at); at < 0 {
		return -1
	}
	if i.at(at) == '.' {
		if at = i.digits(at + 1); at < 0 {
			return -1
		}
	}
	if b := i.at(at); b == 'e' || b == 'E' {
		if at++; i.at(at) == '+' || i.at(at) == '-' {
			at++
		}
		if at = i.digits(at); at < 0 {
			return -1
		}
	}
	return i.note(begin, at, 0)
}

// digits reads one or more.
func (i *indexer) digits(begin int) int {
	at := begin
	for at < len(i.json) && '0' <= i.json[at] && i.json[at] <= '9' {
		at++
	}
	if at == begin {
		return i.fail(at, "")
	}
	return at
}

func (i *indexer) text(begin int) int {
	escaped := 0
	for at := begin + 1; ; {
		at = plainUntil(i.json, at)
		switch b := i.at(at); {
		case b == '"':
			return i.note(begin, at+1, escaped)
		case b == '\\':
			escaped = 1
			if b := i.at(at + 1); b == '"' || b == '\\' { // which are close together in JSON in a text
				at += 2
			} else if at = i.escape(at + 1); at < 0 {
				return -1
			}
		case b >= utf8.RuneSelf:
			_, size := utf8.DecodeRune(i.json[at:])
			if size == 1 {
				return i.fail(at, "invalid UTF-8")
			}
			at += size
		default:
			return i.fail(at, "")
		}
	}
}

// escape reads what follows a backslash. Half of a surrogate pair would be no character.
func (i *indexer) escape(at int) int {
	switch i.at(at) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 1
	case 'u':
	default:
		return i.fail(at, "")
	}
	r, end := i.hex(at + 1)
	if end < 0 || !utf16.IsSurrogate(r) {
		return end
	}
	if i.at(end) != '\\' || i.at(end+1) != 'u' {
		return i.fail(end, "half of a surrogate pair")
	}
	low, after := i.hex(end + 2)
	if after >= 0 && utf16.DecodeRune(r, low) == utf8.RuneError {
		return i.fail(end, "half of a surrogate pair")
	}
	return after
}

func (i *indexer) hex(at int) (r rune, end int) {
	for n := range 4 {
		b := i.at(at + n)
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, i.fail(at+n, "")
		}
		r = r<<4 | rune(b)
	}
	return r, at + 4
}
