// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import "math/rand/v2"

// Choices are decisions, read from bytes; where those end, the first option is chosen.
type Choices struct{ left []byte }

// NewChoices makes choices of bytes, such as a fuzzer's.
func NewChoices(data []byte) *Choices { return &Choices{data} }

// RandomChoices makes choices that a seed decides.
func RandomChoices(seed uint64) *Choices {
	random, data := rand.New(rand.NewPCG(seed, 1)), make([]byte, 256) //nolint:gosec // repeatable on purpose
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return &Choices{data}
}

// Of chooses one of n options, from 0.
func (c *Choices) Of(n int) int {
	value := 0
	for most := n - 1; most > 0 && len(c.left) > 0; most >>= 8 {
		value = value<<8 | int(c.left[0])
		c.left = c.left[1:]
	}
	return value % max(n, 1)
}

// percent is true that often.
func (c *Choices) percent(p int) bool { return c.Of(100) >= 100-p }

func pick[T any](c *Choices, options []T) T { return options[c.Of(len(options))] }

// Bytes returns the bytes that no decision has used.
func (c *Choices) Bytes() []byte { return c.left }
