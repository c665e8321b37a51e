// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/pauses/pausetest"
)

// The durations that the tests use, and so long that a busy machine loses no Lease by itself: how long others
// wait, and how long after a renewal the command is told to end and is killed.
const (
	lease    = 12 * time.Second
	renewal  = 5 * time.Second
	deadline = renewal + 2*time.Second
)

// distant are durations under which neither a renewal that is missing nor a deadline ends the command within a
// test, so that its end within less has another cause.
var distant = []string{"-lease=120s", "-renew=80s", "-grace=30s"}

const soon = 25 * time.Second // below the grace of distant

// within fails where processes died too early or too late after the last renewal. On a machine that stalls, a
// renewal comes in long after it was sent, which is what counts.
func within(t *testing.T, died, renewed time.Time, least, most time.Duration) error {
	t.Helper()
	took := died.Sub(renewed)
	t.Logf("dead %d ms after the last renewal; the Lease lasts %d ms", took.Milliseconds(), lease.Milliseconds())
	if took < least || took >= most {
		return fmt.Errorf("dead %s after the last renewal, want from %s to %s", took, least, most)
	}
	return nil
}

func TestALeaseThatCannotBeRenewedEndsTheCommandInTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		least  time.Duration
		said   string
	}{
		"one that heeds SIGTERM":   {`trap 'echo TERM; exit 0' TERM; ` + members + `wait`, renewal - time.Second, "TERM"},
		"one that does not":        {`trap '' TERM; ` + members + `wait; echo left; while :; do sleep 1; done`, renewal + time.Second, ""},
		"one that has been paused": {members + `kill -STOP $$`, renewal - time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pausetest.Retry(t, func() error {
				a := newAPI(t)
				c := startCandidate(t, a, "--", "sh", "-c", test.script)
				pids := append(c.waitFor("pids"), c.waitFor("outside")...)
				renewed := a.cut(true)
				err := within(t, waitGone(t, pids...), renewed, test.least, lease)
				c.exits(CodeLost)
				if test.said != "" {
					c.waitFor(test.said)
				}
				if a.holder() != "a" {
					t.Errorf("a lost Lease was touched: holder %q", a.holder())
				}
				return err
			})
		})
	}
}

func TestALeaseThatAnotherHoldsLeavesNoGrace(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, append(distant, "--", "sh", "-c", `trap '' TERM; `+members+`while :; do sleep 1; done`)...)
	pids := append(c.waitFor("pids"), c.waitFor("outside")...)
	given := time.Now()
	a.give("another")
	if err := within(t, waitGone(t, pids...), given, 0, soon); err != nil {
		t.Error(err)
	}
	c.exits(CodeLost)
	if a.holder() != "another" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

func TestTheCommandDoesNotOutliveAnElectThatIsKilled(t *testing.T) {
	t.Parallel()
	c := startCandidate(t, newAPI(t), append(distant, "--", "sh", "-c", `trap '' TERM HUP; sleep 1000 & echo pids $$ $!; while :; do sleep 1; done`)...)
	pids := c.waitFor("pids")
	killed := time.Now()
	c.send(syscall.SIGKILL)
	if err := within(t, waitGone(t, pids...), killed, 0, soon); err != nil {
		t.Error(err)
	}
}

// The kernel sees to the command itself where there is no watchdog.
func TestTheCommandDiesWithAnElectThatHasNoWatchdog(t *testing.T) {
	t.Parallel()
	c := startCandidate(t, newAPI(t), append(distant, "-watched=false", "--", "sh", "-c", `echo pids $$; exec sleep 1000`)...)
	pids := c.waitFor("pids")
	killed := time.Now()
	c.send(syscall.SIGKILL)
	if err := within(t, waitGone(t, pids...), killed, 0, soon); err != nil {
		t.Error(err)
	}
}

func TestTheCommandDoesNotOutliveTheLeaseOfAnElectThatIsStopped(t *testing.T) {
	t.Parallel()
	pausetest.Retry(t, func() error {
		a := newAPI(t)
		c := startCandidate(t, a, "--", "sh", "-c", `trap '' TERM; sleep 1000 & echo pids $$ $!; while :; do sleep 1; done`)
		pids := c.waitFor("pids")
		c.send(syscall.SIGSTOP)
		renewed := a.cut(false)
		err := within(t, waitGone(t, pids[1]), renewed, renewal, lease) // the watchdog may not have heard of the last renewal
		c.send(syscall.SIGCONT)
		c.exits(CodeLost)
		return err
	})
}

func TestAnElectThatWakesUpTooLateKillsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, "-watched=false", "--", "sh", "-c", `trap 'echo TERM' TERM; `+members+`while :; do sleep 1; done`)
	pids := append(c.waitFor("pids"), c.waitFor("outside")...)
	c.send(syscall.SIGSTOP)
	a.cut(true)
	<-time.After(deadline + 200*time.Millisecond) // what a stopped process misses is time itself
	c.send(syscall.SIGCONT)
	waitGone(t, pids...)
	c.exits(CodeLost)
	if strings.Contains(c.out.String(), "TERM") {
		t.Error("the command was given a grace")
	}
}

func TestACommandThatEndedByItselfIsNoLossHoweverLateItIsNoticed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, "--", "sh", "-c", `echo pids $$; sleep 0.5; exit 6`)
	pid := c.waitFor("pids")[0]
	c.send(syscall.SIGSTOP)
	waitGone(t, pid)
	<-time.After(deadline)
	c.send(syscall.SIGCONT)
	c.exits(6)
}

func TestAWatchdogThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	pausetest.Retry(t, func() error { return replaced(t) })
}

func replaced(t *testing.T) error {
	a := newAPI(t)
	c := startCandidate(t, a, "--", "sh", "-c", `echo pids $$; exec sleep 1000`)
	command := c.waitFor("pids")[0]
	watchdog := func() int {
		for _, pid := range childrenOf(c.command.Process.Pid) {
			if pid != command {
				return pid
			}
		}
		return 0
	}
	first := 0
	until(t, "there is a watchdog", func() bool { first = watchdog(); return first != 0 }) // 0 is the group of this process
	<-time.After(1100 * time.Millisecond)                                                  // one that ends sooner is not replaced
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the watchdog %d: %w", first, err)
	}
	until(t, "there is another", func() bool { pid := watchdog(); return pid != 0 && pid != first && !gone(pid) })
	before := a.writes()
	until(t, "it hears of renewals", func() bool { return a.writes() > before+1 })
	c.send(syscall.SIGSTOP)
	renewed := a.cut(false)
	return within(t, waitGone(t, command), renewed, deadline/2, lease)
}

func childrenOf(pid int) (children []int) {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range files {
		content, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

func TestUnderDemoteTheCommandRunsAgainWhenTheLeaseIsWonAgain(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, "-demote", "--", "sh", "-c", `trap 'exit 0' TERM; echo pids $$; while :; do sleep 0.02; done`)
	first := c.waitFor("pids")[0]
	a.cut(true)
	waitGone(t, first)
	until(t, "it is a candidate again", func() bool { return strings.Contains(c.logs.String(), "candidate again") })
	a.cut(false)
	until(t, "it runs again", func() bool { return strings.Count(c.out.String(), "pids") == 2 })
	c.send(syscall.SIGTERM)
	c.exits(0)
	if a.holder() != "" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

func TestTheCommandNeverRunsTwiceAtOnceHoweverItsParentsEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := filepath.Join(t.TempDir(), "log")
	parents := map[int]*candidate{}
	join := func(id string) {
		c := startCandidate(t, a, "-id="+id, "-demote", "-lease=9s", "-renew=4s", "-grace=1s", "--", os.Args[0], "alone", path)
		parents[c.command.Process.Pid] = c
	}
	runs := func() []string {
		content, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return slices.Collect(strings.Lines(string(content)))
	}
	join("a")
	join("b")
	seen := 0
	for round, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGKILL} {
		until(t, "one runs", func() bool { return len(runs()) > seen })
		lines := runs()
		seen = len(lines)
		var holder int
		if _, err := fmt.Sscanf(lines[seen-1], "runs %d\n", &holder); err != nil || parents[holder] == nil {
			t.Fatalf("who runs it? %q", lines)
		}
		parents[holder].send(end)
		join("next-" + strconv.Itoa(round))
	}
	until(t, "the last runs", func() bool { return len(runs()) > seen })
	if slices.Contains(runs(), "twice\n") {
		t.Errorf("it ran twice at once: %q", runs())
	}
}
