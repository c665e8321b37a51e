// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestTheOffsetOfTheClockIsWhatIsCertain(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	offset, err := newClockOffset(clocktesting.NewFakePassiveClock(now), prometheus.NewRegistry(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	offset.report = func(message string) { told = append(told, message) }
	for _, test := range []struct {
		title          string
		sent, received time.Duration // before and after now
		date           time.Duration // of the response
		want           string        // in the error; "" for none
		told           int
	}{
		{"equal", 0, 0, 0, "", 0},
		{"a slow response", -time.Minute, 0, -30 * time.Second, "", 0},
		{"a slow response of an API server that is ahead", -time.Minute, 0, 5 * time.Minute, "5m behind", 1},
		{"still", 0, 0, 5 * time.Minute, "5m behind", 1},
		{"nearly equal", 0, 0, 7 * time.Second, "7s behind", 1},
		{"again", 0, 0, 2 * time.Second, "", 1},
		{"nearly equal, from the other side", 0, 0, 7 * time.Second, "", 1},
		{"ahead", 0, 0, -10 * time.Minute, "9m59s ahead of", 2},
	} {
		offset.observe(now.Add(test.sent), now.Add(test.received), now.Add(test.date))
		err := offset.err()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(told) != test.told {
			t.Errorf("%s: %v, want %q; told %q", test.title, err, test.want, told)
		}
	}
}

func TestTheTimeOfTheAPIServerFollowsItsResponses(t *testing.T) {
	began := time.Date(2026, 11, 25, 12, 0, 0, 500e6, time.UTC)
	own := clocktesting.NewFakePassiveClock(began)
	offset, err := newClockOffset(own, prometheus.NewRegistry(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		title     string
		ahead     time.Duration // of this clock, compared with that of the API server
		took      time.Duration // the request
		tolerance time.Duration
	}{
		{"a clock that agrees", 0, 0, 0},
		{"a clock that differs by less than the precision of a date", 400 * time.Millisecond, 0, 400 * time.Millisecond},
		{"a clock that is ahead", 90 * time.Second, 0, time.Second},
		{"a slow response says less", 90 * time.Second, 10 * time.Second, time.Second},
		{"a clock that is set back", -45 * time.Second, 0, time.Second},
		{"a clock that is ahead by a day", 24 * time.Hour, 0, time.Second},
		{"a clock that is right again", 0, 0, time.Second},
	} {
		for range 20 {
			began = began.Add(1370 * time.Millisecond)
			now := began.Add(test.ahead)
			own.SetTime(now)
			offset.observe(now.Add(-test.took), now, began.Add(-test.took/2).Truncate(time.Second))
		}
		if got := offset.Now().Sub(began).Abs(); got > test.tolerance {
			t.Errorf("%s: off by %s", test.title, got)
		}
	}
}

func TestTheOffsetOfTheClockIsReadFromResponses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
	}))
	defer server.Close()
	offset, err := newClockOffset(clock.RealClock{}, nil, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: offset.wrap(http.DefaultTransport)}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := offset.err(); err == nil || !strings.Contains(err.Error(), "behind") {
		t.Errorf("offset: %v", err)
	}
}
