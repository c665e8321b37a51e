// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/json"
	"maps"
)

// equal compares two JSON values; a null member is as good as none.
func equal(a, b any) bool { return covers(a, b) && covers(b, a) }

// covers says whether every value of raw stands in typed as well. What typed has beyond that does
// not matter, and a null is nothing: the API server prunes it.
func covers(typed, raw any) bool {
	switch raw := raw.(type) {
	case nil:
		return true
	case map[string]any:
		object, ok := typed.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range raw {
			if value == nil {
				continue
			}
			if mine, has := object[key]; !has || !covers(mine, value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := typed.([]any)
		if !ok || len(list) != len(raw) {
			return false
		}
		for i := range raw {
			if (raw[i] == nil) != (list[i] == nil) || !covers(list[i], raw[i]) {
				return false
			}
		}
		return true
	case json.Number:
		number, ok := typed.(json.Number)
		return ok && sameNumber(number, raw)
	default:
		return typed == raw
	}
}

// sameNumber compares two numbers by value, so that 5 and 5.0 agree. Integers that a float cannot
// hold are compared by their digits.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	_, errA := a.Int64()
	_, errB := b.Int64()
	if errA == nil && errB == nil {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// keepUnknown adds to the new value what stood in the saved one without its type knowing it, that
// is, what saved has and typed has not. Items of lists are matched by name, or else by position
// where no item came or went.
func keepUnknown(value, saved, typed any) any {
	switch saved := saved.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		if !ok {
			return value
		}
		known, _ := typed.(map[string]any)
		out := maps.Clone(object)
		for key, old := range saved {
			mine, has := object[key]
			switch theirs, understood := known[key]; {
			case has:
				out[key] = keepUnknown(mine, old, theirs)
			case !understood && old != nil:
				out[key] = old
			}
		}
		return out
	case []any:
		list, ok := value.([]any)
		known, _ := typed.([]any)
		if !ok || len(known) != len(saved) {
			return value
		}
		out, places := make([]any, len(list)), placesOf(saved)
		for i, item := range list {
			out[i] = item
			if j := partner(item, i, len(list) == len(saved), places); j >= 0 {
				out[i] = keepUnknown(item, saved[j], known[j])
			}
		}
		return out
	}
	return value
}

// partner returns the index of the saved item that item continues, or -1. By position it does where no
// item came or went, which stay says.
func partner(item any, i int, stay bool, places map[string]int) int {
	name, named := nameOf(item)
	if place, has := places[name]; named && has {
		return place
	}
	if !named && stay {
		return i
	}
	return -1
}

// placesOf returns the index of the first item of each name. A list may be as long as a request, so that
// looking for each item in turn would take minutes.
func placesOf(list []any) map[string]int {
	places := make(map[string]int, len(list))
	for i, item := range list {
		name, named := nameOf(item)
		if _, has := places[name]; named && !has {
			places[name] = i
		}
	}
	return places
}

func nameOf(item any) (string, bool) {
	object, _ := item.(map[string]any)
	name, ok := object["name"].(string)
	return name, ok
}

// withoutNulls returns the value without null members, at any depth.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			if member != nil {
				out[key] = withoutNulls(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = withoutNulls(item)
		}
		return out
	}
	return value
}
