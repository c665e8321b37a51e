// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "bytes"

// What a review costs at most, in bytes of memory, as TestNoReviewCostsMoreThanItsWeight measures it.
const (
	costPerByte  = 12
	costPerValue = 200
)

// lightWork is up to which cost requests are worked on side by side, in bytes. Reviews of our kinds cost a
// fraction of that.
const lightWork = 1 << 20

// weight is what is known of a body without reading it as JSON.
type weight struct{ bytes, values int64 }

// signs are what is before or after a value or a name. Those within strings count as well: a string
// may hold JSON, as that of kubectl's last applied configuration.
var signs = [][]byte{{','}, {':'}, {'{'}, {'['}}

// add takes a part of the body into account.
func (w *weight) add(part []byte) {
	w.bytes += int64(len(part))
	for _, sign := range signs {
		w.values += int64(bytes.Count(part, sign))
	}
}

func (w *weight) cost() int64 { return costPerByte*w.bytes + costPerValue*w.values }

// Cost is what the work on a review may cost at most, in bytes of memory.
func Cost(body []byte) int64 {
	var w weight
	w.add(body)
	return w.cost()
}
