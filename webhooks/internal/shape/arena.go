// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import "strings"

// page is how much memory, in bytes, is asked for at once for the texts of an object.
const page = 512

// arena keeps texts next to each other, as one piece of memory for each would cost more than its
// content. What of them is kept keeps its page.
type arena struct{ page strings.Builder }

func (a *arena) keep(text []byte) string {
	if len(text) > page/4 {
		return string(text)
	}
	if a.page.Cap()-a.page.Len() < len(text) {
		a.page = strings.Builder{}
		a.page.Grow(page)
	}
	begin := a.page.Len()
	a.page.Write(text) // never fails
	return a.page.String()[begin:]
}
