// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "strings"

// Pages of memory, in bytes, are as large as the JSON that is read, but for these bounds.
const leastPage, mostPage = 64, 1024

// arena keeps texts next to each other, as one piece of memory for each would cost more than its
// content. What of them is kept keeps its page.
type arena struct{ page strings.Builder }

// keep copies a text; size is that of the JSON that it stands in.
func (a *arena) keep(text []byte, size int) string {
	size = min(max(size, leastPage), mostPage)
	begin := a.page.Len()
	if a.page.Cap()-begin < len(text) {
		if len(text) > size/4 {
			return string(text)
		}
		a.page, begin = strings.Builder{}, 0
		a.page.Grow(size)
	}
	a.page.Write(text) // never fails
	return a.page.String()[begin:]
}
