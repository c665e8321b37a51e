// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
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
					switch lines.Text() {
					case "bye":
						return
					case "hush":
					default:
						_, _ = fmt.Fprintln(conn, lines.Text())
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

func dial(t *testing.T, l *Link) *client {
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

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
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

func open(t *testing.T) *Link {
	t.Helper()
	l, err := Listen(t.Context(), echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func becomes(t *testing.T, l *Link, want Counts) {
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

// turnedAway dials and wants to be told that nobody is there.
func turnedAway(t *testing.T, l *Link) {
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

func TestWhoComesWhileNobodyListensIsCounted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
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
	becomes(t, l, Counts{Opened: 1, Missed: 1}) // nothing is unanswered: it was the link, not the far side
	l.Set(Open)
	again := dial(t, l)
	again.say("back")
	again.hears("back")
}

func TestASilentLinkKeepsConnectionsAndSaysNothing(t *testing.T) {
	l := open(t)
	c := dial(t, l)
	c.say("hello")
	c.hears("hello")
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

func TestTheEndOfTheContextEndsEverything(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := Listen(ctx, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, l)
	c.say("hello")
	c.hears("hello")
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
