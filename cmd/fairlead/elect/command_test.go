// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// members is a script that says its number and those of a child in its group and of one that left it,
// and stays.
const members = `sleep 1000 & inside=$!; setsid sh -c 'echo outside $$; exec sleep 1000' & echo pids $$ $inside; `

func TestTheExitCodeIsTheCommandsAndTheLeaseIsReleased(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("not executable"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		command []string
		code    int
		holder  string
	}{
		"success":        {[]string{"true"}, 0, ""},
		"its own code":   {[]string{"sh", "-c", "exit 7"}, 7, ""},
		"a signal":       {[]string{"sh", "-c", "kill -USR1 $$"}, 138, ""},
		"killed":         {[]string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		"not executable": {[]string{script}, CodeNotExecutable, "none"},
		"not found":      {[]string{"fairlead-has-no-such-command"}, CodeNotFound, "none"},
		"no such file":   {[]string{script + "s"}, CodeNotFound, "none"},
		"no command":     {nil, CodeFailed, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			c := startCandidate(t, a, append([]string{"--"}, test.command...)...)
			c.exits(test.code)
			if got := a.holder(); got != test.holder {
				t.Errorf("the Lease is held by %q, want %q", got, test.holder)
			}
		})
	}
}

func TestTheThreeStreamsAreTheCommands(t *testing.T) {
	t.Parallel()
	c := startCandidate(t, newAPI(t), "--", "sh", "-c", "cat; echo complaint >&2")
	c.exits(0)
	if c.out.String() != "input\n" || !strings.Contains(c.logs.String(), "complaint\n") {
		t.Errorf("stdout %q, stderr %q", c.out, c.logs)
	}
}

func TestSignalsReachTheWholeGroup(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := startCandidate(t, a, "--", "sh", "-c", `
		for s in HUP USR1 USR2 QUIT INT; do trap "echo $s" $s; done
		trap "echo TERM; exit 9" TERM
		sh -c 'trap "echo inner" USR2; echo inner-ready; while :; do sleep 0.02; done' &
		echo ready
		while :; do sleep 0.02; done`)
	c.waitFor("ready")
	c.waitFor("inner-ready")
	c.send(syscall.SIGUSR2)
	c.waitFor("USR2")
	c.waitFor("inner")
	for word, s := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "QUIT": syscall.SIGQUIT, "INT": syscall.SIGINT} {
		c.send(s)
		c.waitFor(word)
	}
	if a.holder() != "a" {
		t.Errorf("the Lease is held by %q while the command runs", a.holder())
	}
	c.send(syscall.SIGTERM)
	c.waitFor("TERM")
	c.exits(9)
	if a.holder() != "" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

func TestWhatACommandLeavesBehindIsKilledBeforeTheLeaseIsReleased(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	pids := make(chan []int, 1)
	t.Cleanup(func() { close(pids) }) // the server's end waits for its requests
	a.released = func() {
		for _, pid := range <-pids {
			if !gone(pid) {
				t.Errorf("released while %d runs", pid)
			}
		}
	}
	seen := filepath.Join(t.TempDir(), "seen")
	c := startCandidate(t, a, "--", "sh", "-c", members+"until [ -e "+seen+" ]; do sleep 0.05; done; exit 3")
	pids <- append(c.waitFor("pids"), c.waitFor("outside")...)
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.exits(3)
	if a.holder() != "" {
		t.Errorf("the Lease is held by %q", a.holder())
	}
}

func TestOrphansAreReapedWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	c := startCandidate(t, newAPI(t), "--", "sh", "-c", `sh -c 'sh -c "sleep 0.1" & echo orphan $!'; exec sleep 1000`)
	orphan := c.waitFor("orphan")[0]
	until(t, "the orphan is reaped", func() bool { return syscall.Kill(orphan, 0) == syscall.ESRCH })
}

func TestAWaitEndsAtOnceAndNothingHasRun(t *testing.T) {
	for name, test := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"SIGTERM": {syscall.SIGTERM, 143}, "SIGINT": {syscall.SIGINT, 130}, "SIGHUP": {syscall.SIGHUP, 129}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.give("another")
			c := startCandidate(t, a, "--", "echo", "ran")
			until(t, "it waits", func() bool { return strings.Contains(c.logs.String(), "another") })
			c.send(syscall.SIGUSR1)
			sent := time.Now()
			c.send(test.signal)
			c.exits(test.code)
			t.Logf("ended %s after the signal", time.Since(sent).Round(time.Millisecond))
			if c.out.String() != "" || a.holder() != "another" {
				t.Errorf("stdout %q, holder %q", c.out, a.holder())
			}
		})
	}
}
