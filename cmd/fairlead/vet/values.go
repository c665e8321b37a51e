// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/rules"
)

// message words an error with what the manifest tells beyond it.
func (c *checking) message(err *field.Error) string {
	path := fieldOf(err)
	value, scalar := c.node.ScalarAt(path)
	switch {
	case err.Type == field.ErrorTypeDuplicate:
		return c.twice(path, err)
	case err.Type == field.ErrorTypeTypeInvalid && scalar && c.spans(path):
		switch value.(type) {
		case int64, float64:
			return fmt.Sprintf("durations need a unit: write \"%vs\"", value)
		}
	case strings.HasSuffix(err.Detail, "must be in canonical form"):
		if address, parsed := netip.ParseAddr(fmt.Sprint(value)); parsed == nil {
			return message(err) + ", which is " + address.String()
		}
	}
	return message(err)
}

// spans says that a field of the written version is a duration.
func (c *checking) spans(path string) bool {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	for _, rule := range properties(c.kind.schemas()[c.version], parent)[name].XValidations {
		if rule.Message == rules.DurationMessage {
			return true
		}
	}
	return false
}

// twice names the items of a list that are the same, and by which value: spec.triggers[2], where the
// definition says so, or spec.triggers[2].name, where a rule does.
func (c *checking) twice(path string, err *field.Error) string {
	open := strings.LastIndexByte(path, '[')
	list, rest, closed := strings.Cut(path[max(open, 0):], "]")
	index, broken := strconv.Atoi(strings.TrimPrefix(list, "["))
	if open < 0 || !closed || broken != nil {
		return message(err)
	}
	above, key := path[:open], strings.TrimPrefix(rest, ".")
	if keys, ok := err.BadValue.(map[string]any); ok && len(keys) == 1 {
		for name := range keys {
			key = name
		}
	}
	at := func(i int) (any, bool) {
		item := fmt.Sprintf("%s[%d]", above, i)
		if key != "" {
			item += "." + key
		}
		return c.node.ScalarAt(item)
	}
	value, ok := at(index)
	name := above[strings.LastIndexByte(above, '.')+1:]
	for first := 0; ok && first < index; first++ {
		if other, has := at(first); has && other == value {
			if key == "" {
				return fmt.Sprintf("%q is listed twice, as %s[%d] and %s[%d]", fmt.Sprint(value), name, first, name, index)
			}
			return fmt.Sprintf("%s %q is used by %s[%d] and %s[%d]", key, fmt.Sprint(value), name, first, name, index)
		}
	}
	return message(err)
}
