// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

// noIndex is the index of an item that is in no heap.
const noIndex int32 = -1

// heapItem is ordered by a heap, and has its index in it.
type heapItem[T any] interface {
	comparable
	before(other T) bool
	moved(to int32)
}

// heap is a binary heap whose items know their index, so that any of them can be moved or removed in
// logarithmic time. container/heap would do the same with an interface call each.
type heap[T heapItem[T]] []T

func (h *heap[T]) add(t T) {
	*h = append(*h, t)
	t.moved(int32(len(*h) - 1))
	h.up(len(*h) - 1)
}

func (h *heap[T]) remove(slot int32) {
	all := *h
	last, i := len(all)-1, int(slot)
	gone := all[i]
	h.swap(i, last)
	var zero T
	all[last] = zero
	*h = all[:last]
	gone.moved(noIndex)
	if i < last {
		h.fix(slot)
	}
}

// fix moves an item whose order has changed.
func (h *heap[T]) fix(slot int32) {
	if !h.up(int(slot)) {
		h.down(int(slot))
	}
}

func (h *heap[T]) up(i int) bool {
	from := i
	for i > 0 {
		parent := (i - 1) / 2
		if !(*h)[i].before((*h)[parent]) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i != from
}

func (h *heap[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(*h); child++ {
			if (*h)[child].before((*h)[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *heap[T]) swap(i, j int) {
	all := *h
	all[i], all[j] = all[j], all[i]
	all[i].moved(int32(i))
	all[j].moved(int32(j))
}
