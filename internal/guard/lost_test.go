// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lease is how long others wait, with the durations that the tests use.
const lease = 4 * time.Second

// within fails where processes died later than a time after the last renewal.
func within(t *testing.T, died, renewed time.Time, least, most time.Duration) {
	t.Helper()
	took := died.Sub(renewed)
	t.Logf("dead %d ms after the last renewal; the Lease lasts %d ms", took.Milliseconds(), lease.Milliseconds())
	if took < least || took >= most {
		t.Errorf("dead %s after the last renewal, want from %s to %s", took, least, most)
	}
}

func TestALeaseThatCannotBeRenewedEndsTheCommandInTime(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		least  time.Duration
		said   string
	}{
		"one that heeds SIGTERM":   {`trap 'echo TERM; exit 0' TERM; ` + members + `wait`, 1900 * time.Millisecond, "TERM"},
		"one that does not":        {`trap '' TERM; ` + members + `wait; echo left; while :; do sleep 1; done`, 2700 * time.Millisecond, ""},
		"one that has been paused": {members + `kill -STOP $$`, 1900 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			c := stand(t, a, "--", "sh", "-c", test.script)
			pids := append(c.says("pids"), c.says("outside")...)
			renewed := a.cut(true)
			within(t, dies(t, pids...), renewed, test.least, lease)
			c.exits(CodeLost)
			if test.said != "" {
				c.says(test.said)
			}
			if a.holder() != "a" {
				t.Errorf("a lost Lease was touched: holder %q", a.holder())
			}
		})
	}
}

func TestALeaseThatAnotherHoldsLeavesNoGrace(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := stand(t, a, "-lease=60s", "-renew=40s", "-grace=15s", "--", "sh", "-c", `trap '' TERM; `+members+`while :; do sleep 1; done`)
	pids := append(c.says("pids"), c.says("outside")...)
	given := time.Now()
	a.give("another")
	within(t, dies(t, pids...), given, 0, 2*time.Second)
	c.exits(CodeLost)
	if a.holder() != "another" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

func TestTheCommandDoesNotOutliveAGuardThatIsKilled(t *testing.T) {
	t.Parallel()
	c := stand(t, newAPI(t), "--", "sh", "-c", `trap '' TERM HUP; sleep 1000 & echo pids $$ $!; while :; do sleep 1; done`)
	pids := c.says("pids")
	killed := time.Now()
	c.send(syscall.SIGKILL)
	within(t, dies(t, pids...), killed, 0, time.Second)
}

// The kernel sees to the command itself where there is no watchman.
func TestTheCommandDiesWithAGuardThatHasNoWatchman(t *testing.T) {
	t.Parallel()
	c := stand(t, newAPI(t), "-watched=false", "--", "sh", "-c", `echo pids $$; exec sleep 1000`)
	pids := c.says("pids")
	killed := time.Now()
	c.send(syscall.SIGKILL)
	within(t, dies(t, pids...), killed, 0, time.Second)
}

func TestTheCommandDoesNotOutliveTheLeaseOfAGuardThatIsStopped(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := stand(t, a, "--", "sh", "-c", `trap '' TERM; sleep 1000 & echo pids $$ $!; while :; do sleep 1; done`)
	pids := c.says("pids")
	c.send(syscall.SIGSTOP)
	renewed := a.cut(false)
	within(t, dies(t, pids[1]), renewed, 2700*time.Millisecond, lease)
	c.send(syscall.SIGCONT)
	c.exits(CodeLost)
}

func TestAGuardThatWakesUpTooLateKillsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := stand(t, a, "-watched=false", "--", "sh", "-c", `trap '' TERM; `+members+`while :; do sleep 1; done`)
	pids := append(c.says("pids"), c.says("outside")...)
	c.send(syscall.SIGSTOP)
	a.cut(true)
	<-time.After(3 * time.Second) // what a stopped process misses is time itself
	woken := time.Now()
	c.send(syscall.SIGCONT)
	within(t, dies(t, pids...), woken, 0, 500*time.Millisecond)
	c.exits(CodeLost)
}

func TestACommandThatEndedByItselfIsNoLossHoweverLateItIsNoticed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := stand(t, a, "--", "sh", "-c", `echo pids $$; sleep 0.5; exit 6`)
	pid := c.says("pids")[0]
	c.send(syscall.SIGSTOP)
	dies(t, pid)
	<-time.After(3 * time.Second) // past the deadline
	c.send(syscall.SIGCONT)
	c.exits(6)
}

func TestAWatchmanThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := stand(t, a, "--", "sh", "-c", `echo pids $$; exec sleep 1000`)
	command := c.says("pids")[0]
	watchman := func() int {
		for _, pid := range childrenOf(c.command.Process.Pid) {
			if pid != command {
				return pid
			}
		}
		return 0
	}
	first := watchman()
	<-time.After(1100 * time.Millisecond) // one that ends sooner is not replaced
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatalf("kill the watchman %d: %v", first, err)
	}
	until(t, "there is another", func() bool { pid := watchman(); return pid != 0 && pid != first && !gone(pid) })
	before := a.writes()
	until(t, "it hears of renewals", func() bool { return a.writes() > before+1 })
	c.send(syscall.SIGSTOP)
	renewed := a.cut(false)
	within(t, dies(t, command), renewed, 2*time.Second, lease)
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
	c := stand(t, a, "-demote", "--", "sh", "-c", `trap 'exit 0' TERM; echo pids $$; while :; do sleep 0.02; done`)
	first := c.says("pids")[0]
	a.cut(true)
	dies(t, first)
	until(t, "it is a candidate again", func() bool { return strings.Contains(c.logs.String(), "candidate again") })
	a.cut(false)
	until(t, "it runs again", func() bool { return strings.Count(c.out.String(), "pids") == 2 })
	c.send(syscall.SIGTERM)
	c.exits(0)
	if a.holder() != "" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

func TestTheCommandNeverRunsTwiceAtOnceHoweverItsGuardsEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := filepath.Join(t.TempDir(), "log")
	guards := map[int]*candidate{}
	join := func(id string) {
		c := stand(t, a, "-id="+id, "-demote", "--", os.Args[0], "alone", path)
		guards[c.command.Process.Pid] = c
	}
	runs := func() []string {
		content, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(content)), "\n")
	}
	join("a")
	join("b")
	for round, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGKILL} {
		until(t, "one runs", func() bool { return len(runs()) == round+1 && runs()[round] != "" })
		holder, err := strconv.Atoi(strings.Fields(runs()[round])[1])
		if err != nil || guards[holder] == nil {
			t.Fatalf("who runs it? %q", runs()[round])
		}
		guards[holder].send(end)
		join("next-" + strconv.Itoa(round))
	}
	until(t, "the last runs", func() bool { return len(runs()) == 4 })
	if slices.Contains(runs(), "twice") {
		t.Errorf("it ran twice at once: %q", runs())
	}
}
