// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

// Cursor moves over what is known to be JSON. Of anything else it makes nonsense, but it ends, and
// never looks beyond it.
type Cursor struct {
	json []byte
	at   int
}

// NewCursor begins at the beginning.
func NewCursor(json []byte) Cursor { return Cursor{json: json} }

// Peek passes over white space, and returns what comes then; 0 at the end.
func (c *Cursor) Peek() byte {
	for ; c.at < len(c.json); c.at++ {
		switch b := c.json[c.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// Open goes into an object or a list, and says whether there is something in it.
func (c *Cursor) Open(bracket byte) bool {
	if !c.pass(bracket) {
		return false
	}
	switch c.Peek() {
	case '}', ']':
		c.at++
		return false
	case 0:
		return false
	}
	return true
}

// More says whether another member or item follows, and goes out of the container where none does.
func (c *Cursor) More() bool {
	switch c.Peek() {
	case ',':
		c.at++
		return true
	case '}', ']':
		c.at++
	}
	return false
}

// Name passes over the name of a member, and returns it without its quotes.
func (c *Cursor) Name() []byte {
	name := c.Value()
	c.pass(':')
	if len(name) < 2 {
		return nil
	}
	return plain(name)
}

// Value passes over the next value, and returns it.
func (c *Cursor) Value() []byte {
	first := c.Peek()
	begin := c.at
	switch first {
	case '"':
		c.at = EndOfText(c.json, begin)
	case '{', '[':
		c.container()
	default:
		c.word()
	}
	return c.json[begin:c.at:c.at]
}

// pass passes over b, if it is next.
func (c *Cursor) pass(b byte) bool {
	if c.Peek() != b {
		return false
	}
	c.at++
	return true
}

// container passes over an object or a list, to the end of it.
func (c *Cursor) container() {
	for depth := 0; c.at < len(c.json); {
		switch c.json[c.at] {
		case '"':
			c.at = EndOfText(c.json, c.at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.at++
		if depth == 0 {
			return
		}
	}
}

// word passes over a number, true, false or null.
func (c *Cursor) word() {
	for ; c.at < len(c.json); c.at++ {
		switch c.json[c.at] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r', '"', '{', '[':
			return
		}
	}
}
