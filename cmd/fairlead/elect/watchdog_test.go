// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A watchdog runs under a fake clock that may also be moved while all timers stand
// still, as in the sleep of a machine.
func TestTheWatchdogKillsAtTheDeadlineAtTheEndOfRequestsAndAfterASleep(t *testing.T) {
	for name, test := range map[string]struct {
		lines string        // the requests
		wait  time.Duration // then
		sleep time.Duration // of the machine, then
		more  time.Duration // then
		end   bool
		want  string
	}{
		"before the deadline": {"7 10000000000\n", 10*time.Second - 1, 0, 0, false, "[]"},
		"at the deadline":     {"7 10000000000\n", 10 * time.Second, 0, 0, false, "[7]"},
		"once":                {"7 10000000000\n", time.Minute, 0, 0, true, "[7]"},
		"renewed":             {"7 10000000000\n7 20000000000\n", 20*time.Second - 1, 0, 0, false, "[]"},
		"no group":            {"7 10000000000\n0 0\n", time.Minute, 0, 0, true, "[]"},
		"no request":          {"", time.Minute, 0, 0, true, "[]"},
		"requests end":        {"7 10000000000\n", time.Second, 0, 0, true, "[7]"},
		"a sleep":             {"7 10000000000\n", time.Second, time.Hour, wakeInterval, false, "[7]"},
		"never all groups":    {"1 10000000000\n", time.Minute, 0, 0, true, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, slept, killed := time.Now(), time.Duration(0), []int{}
				w := watchdog{now: func() time.Duration { return time.Since(began) + slept }, kill: func(group int) { killed = append(killed, group) }}
				requests := newLines(test.lines)
				done := make(chan error, 1)
				go func() { done <- w.run(requests) }()
				synctest.Wait()
				<-time.After(test.wait)
				synctest.Wait()
				slept = test.sleep
				<-time.After(test.more)
				synctest.Wait()
				if test.end {
					close(requests.over)
					synctest.Wait()
				}
				if got := fmt.Sprint(killed); got != test.want {
					t.Errorf("killed %s, want %s", got, test.want)
				}
				if !test.end {
					close(requests.over)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAWatchdogThatIsToldNonsenseKillsAndSaysSo(t *testing.T) {
	var killed []int
	w := watchdog{now: func() time.Duration { return 0 }, kill: func(group int) { killed = append(killed, group) }}
	err := w.run(strings.NewReader("7 10000000000\nwhat\n"))
	if err == nil || !strings.Contains(err.Error(), `"what"`) || len(killed) != 1 {
		t.Errorf("error %v, killed %v", err, killed)
	}
}

// lines is a reader that returns a text, and then waits for the end.
type lines struct {
	*strings.Reader
	over chan struct{}
}

func newLines(text string) *lines { return &lines{strings.NewReader(text), make(chan struct{})} }

func (l *lines) Read(p []byte) (int, error) {
	if l.Len() == 0 {
		<-l.over
	}
	return l.Reader.Read(p)
}
