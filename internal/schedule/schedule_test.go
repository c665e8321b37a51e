// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseRefusesWhatCannotBeASchedule(t *testing.T) {
	for name, c := range map[string]struct{ expression, zone, want string }{
		"empty":           {"", "", "five-field"},
		"six fields":      {"0 0 * * * *", "", "five-field"},
		"own zone":        {"TZ=UTC 0 0 * * *", "", "use timeZone"},
		"own cron zone":   {"CRON_TZ=UTC 0 0 * * *", "", "use timeZone"},
		"every":           {"@every 5m", "", "interval"},
		"minute 60":       {"60 0 * * *", "", "five-field"},
		"30 February":     {"0 0 30 2 *", "", "five years"},
		"local":           {"0 0 * * *", "Local", "IANA"},
		"local lowercase": {"0 0 * * *", "local", "IANA"},
		"no such zone":    {"0 0 * * *", "Europe/Atlantis", "unknown time zone"},
		"path as zone":    {"0 0 * * *", "../UTC", "unknown time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.expression, c.zone)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Parse(%q, %q) = %v, want an error with %q", c.expression, c.zone, err, c.want)
			}
		})
	}
	if _, err := Parse("0 0 31 4 *", ""); !errors.Is(err, ErrNeverFires) {
		t.Errorf("31 April: %v, want ErrNeverFires", err)
	}
}

func TestNextAnswersInTheScheduleZone(t *testing.T) {
	s, err := Parse("0 3 * * 0", "Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Next(time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC))
	want := time.Date(2026, time.March, 8, 2, 0, 0, 0, time.UTC)
	if !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
	if _, err := Parse("0 0 29 2 *", "UTC"); err != nil {
		t.Errorf("29 February fires in a leap year: %v", err)
	}
}
