// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// echo is a server that answers every line, except those that say nothing, and hangs up on "bye".
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					switch line := strings.TrimSpace(lines.Text()); line {
					case "bye":
						return
					case "hush":
					default:
						_, _ = fmt.Fprintln(conn, line)
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

type client struct {
	net.Conn
	t     *testing.T
	lines *bufio.Reader
}

func dial(t *testing.T, l *Proxy) *client {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{conn, t, bufio.NewReader(conn)}
}

// say sends a line that is long enough for a call.
func (c *client) say(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c, line+strings.Repeat(" ", goodbye)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) hears(want string) {
	c.t.Helper()
	if line, err := c.lines.ReadString('\n'); err != nil || line != want+"\n" {
		c.t.Errorf("heard %q, %v; want %q", line, err, want)
	}
}

// ends says whether the connection ended, and was not merely quiet.
func (c *client) ends() error {
	_, err := c.lines.ReadByte()
	if timeout := net.Error(nil); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("the connection lives on: %v", err)
	}
	return nil
}

func open(t *testing.T) *Proxy {
	t.Helper()
	l, err := Listen(t.Context(), echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func becomes(t *testing.T, l *Proxy, want Counts) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.Counts() != want; {
		if time.Now().After(deadline) {
			t.Fatalf("counts are %+v, want %+v", l.Counts(), want)
		}
		<-time.After(time.Millisecond)
	}
}

func TestAnOpenLinkForwardsAndCountsWhoWaits(t *testing.T) {
	l := open(t)
	c := dial(t, l)
	c.say("hello")
	c.hears("hello")
	becomes(t, l, Counts{Opened: 1})
	c.say("hush")
	becomes(t, l, Counts{Opened: 1, InFlight: 1})
}

func TestAnEndWhileTheClientWaitsIsCountedAndOneWithoutIsNot(t *testing.T) {
	l := open(t)
	waits := dial(t, l)
	waits.say("bye")
	if err := waits.ends(); err != nil {
		t.Error(err)
	}
	becomes(t, l, Counts{Opened: 1, Unanswered: 1})
	leaves := dial(t, l)
	leaves.say("hello")
	leaves.hears("hello")
	_ = leaves.Close()
	becomes(t, l, Counts{Opened: 2, Unanswered: 1})
}

// turnedAway dials and wants to be told that there is no listener.
func turnedAway(t *testing.T, l *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	if err != nil {
		return // it was told at once
	}
	defer func() { _ = conn.Close() }()
	if err := (&client{conn, t, bufio.NewReader(conn)}).ends(); err != nil {
		t.Error(err)
	}
}

func TestAConnectionWithoutAListenerIsCounted(t *testing.T) {
	listener, l := unattended(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	turnedAway(t, l)
	becomes(t, l, Counts{Missed: 1})
}

func TestARefusedLinkEndsConnectionsAndTakesNone(t *testing.T) {
	l := open(t)
	c := dial(t, l)
	c.say("hello")
	c.hears("hello")
	c.say("hush")
	becomes(t, l, Counts{Opened: 1, InFlight: 1})
	l.Set(Refused)
	if err := c.ends(); err != nil {
		t.Error(err)
	}
	turnedAway(t, l)
	becomes(t, l, Counts{Opened: 1, Unanswered: 1, Missed: 1})
	l.Set(Open)
	again := dial(t, l)
	again.say("back")
	again.hears("back")
}

func TestASilentLinkKeepsConnectionsAndSaysNothing(t *testing.T) {
	l := open(t)
	c := established(t, l)
	l.Set(Silent)
	c.say("anybody?")
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.lines.ReadByte(); err == nil {
		t.Error("a silent link answered")
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	l.Set(Open)
	c.hears("anybody?")
	becomes(t, l, Counts{Opened: 1, Missed: 1})
}

// established is a client whose connection is opened, and idle.
func established(t *testing.T, l *Proxy) *client {
	t.Helper()
	c := dial(t, l)
	for _, line := range []string{"hello", "well met"} {
		c.say(line)
		c.hears(line)
	}
	return c
}

// unattended is a proxy to a port where nothing accepts.
func unattended(t *testing.T) (net.Listener, *Proxy) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // some tests have closed it
	l, err := Listen(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return listener, l
}

// mortal is a server of one connection, which answers one line, and whose end the test decides.
func mortal(t *testing.T) (l *Proxy, answered chan<- string, die func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	lines := make(chan string, 1)
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		accepted <- conn
		for line := range lines {
			_, _ = fmt.Fprintln(conn, line)
		}
	}()
	l, err = Listen(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	t.Cleanup(func() { close(lines) })
	return l, lines, func() {
		_ = listener.Close()
		_ = (<-accepted).Close()
	}
}

// A connection that a process has not accepted, or is still shaking hands over, ends with the process,
// and with it the call for which it was opened, although its client does not wait for an answer yet.
func TestAConnectionThatIsBeingOpenedIsLostWithTheFarSide(t *testing.T) {
	t.Run("not accepted", func(t *testing.T) {
		listener, l := unattended(t)
		c := dial(t, l)
		becomes(t, l, Counts{Opened: 1})
		_ = listener.Close() // the kernel resets what was not accepted
		if err := c.ends(); err != nil {
			t.Error(err)
		}
		becomes(t, l, Counts{Opened: 1, Unanswered: 1})
	})
	t.Run("in its handshake", func(t *testing.T) {
		l, answer, die := mortal(t)
		c := dial(t, l)
		c.say("client hello")
		answer <- "server hello"
		c.hears("server hello")
		die()
		if err := c.ends(); err != nil {
			t.Error(err)
		}
		becomes(t, l, Counts{Opened: 1, Unanswered: 1})
	})
}

// The client of an idle connection may send before it learns that the far side has ended.
func TestWhatIsSentAfterTheFarSideEndedIsCounted(t *testing.T) {
	l, answer, die := mortal(t)
	c := dial(t, l)
	for _, line := range []string{"client hello", "call"} {
		c.say(line)
		becomes(t, l, Counts{Opened: 1, InFlight: 1})
		answer <- line
		c.hears(line)
	}
	die()
	if err := c.ends(); err != nil {
		t.Error(err)
	}
	becomes(t, l, Counts{Opened: 1})
	sent := time.Now()
	c.say("two")
	becomes(t, l, Counts{Opened: 1, Missed: 1})
	losses := l.Losses()
	if len(losses) != 1 || losses[0].Held || losses[0].From.After(sent) || losses[0].To.Before(sent) {
		t.Errorf("losses %+v of a call sent at %s", losses, sent)
	}
}

func TestEveryCallOfAConnectionMayBeLost(t *testing.T) {
	l, answer, _ := mortal(t)
	c := dial(t, l)
	for _, line := range []string{"client hello", "call"} {
		c.say(line)
		becomes(t, l, Counts{Opened: 1, InFlight: 1})
		answer <- line
		c.hears(line)
	}
	c.say("late")
	becomes(t, l, Counts{Opened: 1, InFlight: 1})
	l.Set(Silent)
	l.Set(Open)
	answer <- "late"
	c.hears("late")
	becomes(t, l, Counts{Opened: 1, Unanswered: 1})
	l.Set(Silent)
	c.say("later")
	becomes(t, l, Counts{Opened: 1, InFlight: 1, Unanswered: 1, Missed: 1})
}

// A connection that is lost while it is opened may have been opened for a call that another connection
// served, and be left to the next one. It is one loss all the same, for as long as the silence lasts.
func TestALossLastsAsLongAsTheSilence(t *testing.T) {
	l, answer, _ := mortal(t)
	c := dial(t, l)
	c.say("client hello")
	becomes(t, l, Counts{Opened: 1, InFlight: 1})
	answer <- "server hello"
	c.hears("server hello")
	l.Set(Silent)
	becomes(t, l, Counts{Opened: 1, Unanswered: 1})
	c.say("finished")
	becomes(t, l, Counts{Opened: 1, InFlight: 1, Unanswered: 1})
	sent := time.Now()
	c.say("call")
	losses := l.Losses()
	if len(losses) != 1 || !losses[0].Held || losses[0].To.Before(sent) {
		t.Errorf("losses %+v of a call sent at %s", losses, sent)
	}
}

// Who ends an idle connection says so first, which is no call.
func TestAGoodbyeIsNoCall(t *testing.T) {
	l := open(t)
	c := established(t, l)
	if _, err := fmt.Fprint(c, strings.Repeat("x", goodbye)); err != nil {
		t.Fatal(err)
	}
	l.Set(Silent)
	l.Set(Refused)
	if err := c.ends(); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	turnedAway(t, l)
	becomes(t, l, Counts{Opened: 1, Missed: 1})
}

func TestCallsThatWaitWhenALinkFallsSilentAreLost(t *testing.T) {
	l := open(t)
	idle, waits := established(t, l), established(t, l)
	sent := time.Now()
	waits.say("hush")
	becomes(t, l, Counts{Opened: 2, InFlight: 1})
	l.Set(Silent)
	becomes(t, l, Counts{Opened: 2, InFlight: 1, Unanswered: 1})
	idle.say("anybody?")
	becomes(t, l, Counts{Opened: 2, InFlight: 2, Unanswered: 1, Missed: 1})
	waits.say("hello?") // the same call
	losses := l.Losses()
	if len(losses) != 2 || !losses[0].Held || losses[1].Held || losses[0].From.Before(sent) {
		t.Errorf("losses %+v of a call sent at %s", losses, sent)
	}
}

func TestTheEndOfTheContextEndsEverything(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := Listen(ctx, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	c := established(t, l)
	l.Set(Silent)
	cancel()
	l.Close()
	if err := c.ends(); err != nil {
		t.Error(err)
	}
	l.Set(Open)
	if conn, err := net.Dial("tcp", l.Address()); err == nil {
		t.Error("a closed link opened again", conn.Close())
	}
}
