// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"
	"time"
)

// durationPattern returns the pattern that the API server checks.
func durationPattern(t *testing.T) *regexp.Regexp {
	t.Helper()
	source, err := os.ReadFile("types.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`self\.matches\('(.*?)'\)`).FindSubmatch(source)
	if found == nil {
		t.Fatal("types.go has no pattern of a Duration")
	}
	return regexp.MustCompile(string(found[1]))
}

func TestADurationIsWrittenAsOneIsRead(t *testing.T) {
	pattern := durationPattern(t)
	check := func(d time.Duration) {
		t.Helper()
		text := DurationOf(d)
		read, err := text.Parse()
		if want := min(d, largest).Truncate(time.Millisecond); err != nil || read != want || !pattern.MatchString(string(text)) || len(text) > 32 {
			t.Errorf("%d is written %q, which is read as %s, want %s: %v", d, text, read, want, err)
		}
	}
	for _, d := range []time.Duration{
		0, 1, time.Millisecond, time.Second - 1, time.Minute, 90 * time.Second, 24 * time.Hour, 99999 * time.Hour,
		largest - 1, largest, largest + 1, 100000 * time.Hour, math.MaxInt32 * time.Second, math.MaxInt64,
	} {
		check(d)
	}
	for range 100_000 { // of each size
		check(time.Duration(rand.Int64() >> rand.IntN(63)))
	}
}

func TestADurationIsWrittenInItsShortestForm(t *testing.T) {
	for d, want := range map[time.Duration]Duration{
		0: "0s", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 1500 * time.Millisecond: "1s500ms", time.Hour + time.Second: "1h1s",
		time.Microsecond: "0s", -time.Minute: "-1m", math.MinInt64: "-99999h59m59s999ms", math.MaxInt64: "99999h59m59s999ms",
	} {
		if got := DurationOf(d); got != want {
			t.Errorf("%s is written %q, want %q", d, got, want)
		}
	}
}
