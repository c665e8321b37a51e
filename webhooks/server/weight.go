// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "bytes"

// The highest costs of a review, in bytes of memory. TestNoReviewCostsMoreThanItsWeight measures them.
const (
	costPerByte  = 12
	costPerValue = 200
)

// lightWork is the cost up to which requests hold a slot rather than memory, in bytes. Reviews of our kinds cost a
// fraction of it.
const lightWork = 1 << 20

// weight is the cost of decoding a body: its bytes and its values, counted without parsing its JSON.
type weight struct{ bytes, values int64 }

// signs are the characters before or after a value or a name. They count within strings too, since a string may hold
// JSON, such as kubectl's last applied configuration.
var signs = [][]byte{{','}, {':'}, {'{'}, {'['}}

// add adds a part of the body.
func (w *weight) add(part []byte) {
	w.bytes += int64(len(part))
	for _, sign := range signs {
		w.values += int64(bytes.Count(part, sign))
	}
}

func (w *weight) cost() int64 { return costPerByte*w.bytes + costPerValue*w.values }

// Cost returns the highest cost of processing a review, in bytes of memory.
func Cost(body []byte) int64 {
	var w weight
	w.add(body)
	return w.cost()
}
