// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"fmt"
	"testing"
	"time"
)

func TestUnknownFieldsOfALongListAreKeptSoon(t *testing.T) {
	const n = 100_000 // of which each would be compared with each other one for more than a minute
	value, saved, typed := make([]any, n), make([]any, n), make([]any, n)
	for i := range n {
		name := fmt.Sprintf("item-%d", i)
		value[n-1-i] = map[string]any{"name": name}
		saved[i] = map[string]any{"name": name, "unknown": i}
		typed[i] = map[string]any{"name": name}
	}
	began := time.Now()
	kept, is := keepUnknown(value, saved, typed).([]any)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("%d items took %s", n, took)
	}
	if !is || len(kept) != n {
		t.Fatalf("got %T", kept)
	}
	for i, item := range kept {
		if object, is := item.(map[string]any); !is || object["unknown"] != n-1-i {
			t.Fatalf("item %d is %v", i, item)
		}
	}
}

func TestTheFirstItemOfANameIsContinued(t *testing.T) {
	saved := []any{map[string]any{"name": "a", "x": 1}, map[string]any{"name": "a", "x": 2}, map[string]any{"x": 3}}
	typed := []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}, map[string]any{}}
	for what, c := range map[string]struct {
		value []any
		want  string
	}{
		"as many":  {[]any{map[string]any{"name": "b"}, map[string]any{"name": "a"}, map[string]any{}}, "[map[name:b] map[name:a x:1] map[x:3]]"},
		"one less": {[]any{map[string]any{"name": "a"}, map[string]any{}}, "[map[name:a x:1] map[]]"},
	} {
		if got := fmt.Sprint(keepUnknown(c.value, saved, typed)); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
}
