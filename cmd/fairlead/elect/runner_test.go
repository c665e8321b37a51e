// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

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

// The durations of the tests, long enough that a busy machine loses no Lease by itself: how long others wait, and how long
// after a renewal the command gets SIGTERM and SIGKILL.
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
	c := startCandidate(t, newAPI(t), append(distant, "--", "sh", "-c", `trap '' TERM HUP; `+members+`while :; do sleep 1; done`)...)
	pids := append(c.waitFor("pids"), c.waitFor("outside")...)
	killed := time.Now()
	c.send(syscall.SIGKILL)
	if err := within(t, waitGone(t, pids...), killed, 0, soon); err != nil {
		t.Error(err)
	}
}

// The kernel sees to the command itself where both are killed.
func TestTheCommandDiesWithAnElectAndAGuardThatAreKilledAtOnce(t *testing.T) {
	t.Parallel()
	c := startCandidate(t, newAPI(t), append(distant, "--", "sh", "-c", `echo pids $$; exec sleep 1000`)...)
	pids := c.waitFor("pids")
	guard, killed := c.guard(), time.Now()
	c.send(syscall.SIGSTOP) // it does not see the guard die
	_ = syscall.Kill(guard, syscall.SIGKILL)
	c.send(syscall.SIGKILL)
	if err := within(t, waitGone(t, pids...), killed, 0, soon); err != nil {
		t.Error(err)
	}
}

func TestTheCommandDoesNotOutliveTheLeaseOfAnElectThatIsStopped(t *testing.T) {
	t.Parallel()
	pausetest.Retry(t, func() error {
		a := newAPI(t)
		c := startCandidate(t, a, "--", "sh", "-c", `trap '' TERM; `+members+`while :; do sleep 1; done`)
		pids := append(c.waitFor("pids"), c.waitFor("outside")...)
		c.send(syscall.SIGSTOP)
		renewed := a.cut(false)
		err := within(t, waitGone(t, pids...), renewed, renewal, lease) // the guard may not have heard of the last renewal
		c.send(syscall.SIGCONT)
		c.exits(CodeLost)
		return err
	})
}

func TestTheCommandDoesNotOutliveTheLeaseWhereItsGuardIsStopped(t *testing.T) {
	t.Parallel()
	pausetest.Retry(t, func() error {
		a := newAPI(t)
		c := startCandidate(t, a, "--", "sh", "-c", `trap '' TERM; `+members+`while :; do sleep 1; done`)
		pids := append(c.waitFor("pids"), c.waitFor("outside")...)
		_ = syscall.Kill(c.guard(), syscall.SIGSTOP)
		renewed := a.cut(true)
		err := within(t, waitGone(t, pids...), renewed, renewal, lease)
		c.exits(CodeLost)
		return err
	})
}

func TestALeaseThatAnotherHoldsEndsACommandWhoseGuardIsStopped(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, append(distant, "--", "sh", "-c", members+`wait`)...)
	pids := append(c.waitFor("pids"), c.waitFor("outside")...)
	_ = syscall.Kill(c.guard(), syscall.SIGSTOP)
	given := time.Now()
	a.give("another")
	if err := within(t, waitGone(t, pids...), given, 0, soon); err != nil {
		t.Error(err)
	}
	c.exits(CodeLost)
}

func TestAnElectThatWakesUpTooLateKillsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, "--", "sh", "-c", `trap 'echo TERM' TERM; `+members+`while :; do sleep 1; done`)
	pids := append(c.waitFor("pids"), c.waitFor("outside")...)
	guard := c.guard()
	c.send(syscall.SIGSTOP)
	_ = syscall.Kill(guard, syscall.SIGSTOP)
	a.cut(true)
	<-time.After(deadline + 200*time.Millisecond) // what a stopped process misses is time itself
	_ = syscall.Kill(guard, syscall.SIGCONT)
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

func TestACommandWhoseGuardIsKilledEndsAndTheLeaseIsReleasedThen(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	pids := make(chan []int, 1)
	a.released = func() {
		for _, pid := range <-pids {
			if !gone(pid) {
				t.Errorf("released while %d runs", pid)
			}
		}
	}
	c := startCandidate(t, a, append(distant, "--", "sh", "-c", `trap '' TERM; `+members+`while :; do sleep 1; done`)...)
	pids <- append(c.waitFor("pids"), c.waitFor("outside")...)
	_ = syscall.Kill(c.guard(), syscall.SIGKILL)
	c.exits(CodeFailed)
	if !strings.Contains(c.logs.String(), "guard") || a.holder() != "" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

// A process whose parent ends is found again, however often that happens.
func TestDaemonsThatForkOnAreKilledWithElectAndWithItsGuard(t *testing.T) {
	for name, end := range map[string]func(*candidate){
		"elect is killed":     func(c *candidate) { c.send(syscall.SIGKILL) },
		"the guard is killed": func(c *candidate) { _ = syscall.Kill(c.guard(), syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lock")
			c := startCandidate(t, newAPI(t), append(distant, "--", "sh", "-c",
				`exec 9>"$1"; flock 9; echo ready; setsid sh -c "$2" "$2" & sleep 1000`, "sh", path, `sleep 0.02; setsid sh -c "$0" "$0" & exit`)...)
			c.waitFor("ready")
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			held := func() bool { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil }
			if !held() {
				t.Fatal("no process has the lock")
			}
			end(c)
			until(t, "no process has the lock that all inherited", func() bool { return !held() })
		})
	}
}

// guard returns the process id of the guard, which is the only child.
func (c *candidate) guard() int {
	c.Helper()
	children := childrenOf(c.command.Process.Pid)
	if len(children) != 1 {
		c.Fatalf("children %d, want the guard alone", children)
	}
	return children[0]
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

func TestTheCommandNeverRunsTwiceAtOnceHoweverItsParentsEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := filepath.Join(t.TempDir(), "log")
	candidates := map[string]*candidate{}
	join := func(id string) {
		candidates[id] = startCandidate(t, a, "-id="+id, "-lease=9s", "-renew=4s", "-grace=1s", "--", os.Args[0], "alone", path)
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
		holder := candidates[strings.TrimSpace(strings.TrimPrefix(lines[seen-1], "runs "))]
		if holder == nil {
			t.Fatalf("who runs it? %q", lines)
		}
		holder.send(end)
		join("next-" + strconv.Itoa(round))
	}
	until(t, "the last runs", func() bool { return len(runs()) > seen })
	if slices.Contains(runs(), "twice\n") {
		t.Errorf("it ran twice at once: %q", runs())
	}
}
