// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"strings"
)

// MaxNamed is how many things of a kind one message names.
const MaxNamed = 3

// Summarize joins the first of a list, and adds how many more there are.
func Summarize(list []string) string {
	if len(list) <= MaxNamed {
		return strings.Join(list, "; ")
	}
	return strings.Join(list[:MaxNamed], "; ") + fmt.Sprintf("; and %d more", len(list)-MaxNamed)
}

// Plural returns a number with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
