// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// A guard runs under a fake clock that may also be moved while all timers stand still, as in the sleep of a
// machine.
func TestTheGuardEndsTheCommandAtItsTimesAtTheEndOfRequestsAndAfterASleep(t *testing.T) {
	const s = time.Second
	times := func(terminate, kill time.Duration) request { return request{TerminateAt: terminate, KillAt: kill} }
	signal := request{Signal: syscall.SIGUSR1}
	const terminated, killed = "terminated continued", "terminated continued killed"
	for name, test := range map[string]struct {
		requests []request
		wait     time.Duration // then
		sleep    time.Duration // of the machine, then
		more     time.Duration // then
		end      bool          // of the requests
		want     string
	}{
		"before the renew deadline": {[]request{times(10*s, 13*s)}, 10*s - 1, 0, 0, false, ""},
		"at the renew deadline":     {[]request{times(10*s, 13*s)}, 10 * s, 0, 0, false, terminated},
		"before the grace is over":  {[]request{times(10*s, 13*s)}, 13*s - 1, 0, 0, false, terminated},
		"when the grace is over":    {[]request{times(10*s, 13*s)}, 13 * s, 0, 0, false, killed},
		"once":                      {[]request{times(10*s, 13*s)}, 60 * s, 0, 0, true, killed},
		"without a grace":           {[]request{times(10*s, 10*s)}, 10 * s, 0, 0, false, "killed"},
		"renewed":                   {[]request{times(10*s, 13*s), times(20*s, 23*s)}, 20*s - 1, 0, 0, false, ""},
		"a signal":                  {[]request{times(10*s, 13*s), signal}, 10*s - 1, 0, 0, false, "user defined signal 1"},
		"requests end":              {[]request{times(10*s, 13*s)}, s, 0, 0, true, "killed"},
		"requests end in the grace": {[]request{times(10*s, 13*s)}, 11 * s, 0, 0, true, killed},
		"a short sleep":             {[]request{times(10*s, 13*s)}, s, 10 * s, wakeInterval, false, terminated},
		"a sleep":                   {[]request{times(10*s, 13*s)}, s, time.Hour, wakeInterval, false, "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, slept, sent := time.Now(), time.Duration(0), []string{}
				g := guard{
					logger: logr.Discard(),
					now:    func() time.Duration { return time.Since(began) + slept },
					signal: func(s syscall.Signal) { sent = append(sent, s.String()) },
				}
				requests, ended, code := make(chan request), make(chan int), make(chan int)
				go func() { code <- g.run(test.requests[0], requests, nil, ended) }()
				for _, r := range test.requests[1:] {
					requests <- r
				}
				synctest.Wait()
				<-time.After(test.wait)
				synctest.Wait()
				slept = test.sleep
				<-time.After(test.more)
				synctest.Wait()
				if test.end {
					close(requests)
					synctest.Wait()
				}
				if got := strings.Join(sent, " "); got != test.want {
					t.Errorf("sent %q, want %q", got, test.want)
				}
				ended <- 7
				want := 7
				if strings.Contains(test.want, "killed") || strings.Contains(test.want, "terminated") {
					want = CodeLost
				}
				if got := <-code; got != want {
					t.Errorf("exit code %d, want %d", got, want)
				}
			})
		})
	}
}

func TestRequestsThatCannotBeReadEnd(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, `{"KillAt":1}` + "\n" + `{"KillAt":2}` + "\n": 2, `{"KillAt":1}` + "\nwhat\n" + `{"KillAt":2}` + "\n": 1, `{"KillAt":1}` + "\n" + `{"Kill`: 1,
	} {
		requests, read := make(chan request), 0
		go readRequests(strings.NewReader(text), requests)
		for range requests {
			read++
		}
		if read != want {
			t.Errorf("%q: %d requests, want %d", text, read, want)
		}
	}
}
