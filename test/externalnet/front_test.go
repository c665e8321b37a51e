// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestFaultsOfTheConnectionAreWhatAClientSees(t *testing.T) {
	w := newWorld(t)
	const at = "192.0.2.10:5432"
	s := ok(t)(w.TCP(at))
	read := func(c net.Conn) (string, error) {
		buffer := make([]byte, 100)
		n, err := c.Read(buffer)
		return string(buffer[:n]), err
	}
	for _, test := range []struct {
		fault  Fault
		wanted func(t *testing.T, c net.Conn, err error)
	}{
		{Refuse, func(t *testing.T, _ net.Conn, err error) {
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial: %v", err)
			}
		}},
		{Drop, func(t *testing.T, _ net.Conn, err error) {
			if !timedOut(err) {
				t.Errorf("dial: %v", err)
			}
		}},
		{Hang, func(t *testing.T, c net.Conn, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if said, err := read(c); !timedOut(err) {
				t.Errorf("read %q: %v", said, err)
			}
		}},
		{Reset, func(t *testing.T, c net.Conn, err error) {
			if err == nil {
				_, err = read(c)
			}
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Error(err)
			}
		}},
		{Garbage, func(t *testing.T, c net.Conn, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if said, err := read(c); len(said) == 0 || err != nil {
				t.Errorf("read %q: %v", said, err)
			}
		}},
		{Healthy, func(t *testing.T, c net.Conn, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if said, err := read(c); !timedOut(err) {
				t.Errorf("read %q: %v", said, err)
			}
		}},
	} {
		t.Run(string(test.fault), func(t *testing.T) {
			set(t, s, Behavior{Fault: test.fault})
			c, err := dial(t, at, moment)
			test.wanted(t, c, err)
			set(t, s, Behavior{})
			if _, err := dial(t, at, patience); err != nil {
				t.Errorf("after the fault: %v", err)
			}
		})
	}
}

func TestASynThatWasDroppedGetsThroughOnceTheFaultIsOver(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.TCP("192.0.2.10:5432"))
	set(t, s, Behavior{Fault: Drop})
	var wait sync.WaitGroup
	defer wait.Wait()
	ended := make(chan error, 1)
	wait.Go(func() {
		_, err := dial(t, "192.0.2.10:5432", patience)
		ended <- err
	})
	select {
	case err := <-ended:
		t.Fatalf("the dial ended: %v", err)
	case <-time.After(moment):
	}
	set(t, s, Behavior{})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestOpenConnectionsEndWithRefuseAndReset(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.TCP("192.0.2.10:5432"))
	for _, fault := range []Fault{Refuse, Reset} {
		set(t, s, Behavior{})
		c, err := dial(t, "192.0.2.10:5432", patience)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "one is open", func() bool { return s.Counts().Open == 1 })
		set(t, s, Behavior{Fault: fault})
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

func TestConnectionsAreCountedWithTheirPeak(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.TCP("192.0.2.10:5432"))
	began := time.Now()
	for i := range 5 {
		c, err := dial(t, "192.0.2.10:5432", patience)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 3 {
			_ = c.Close()
			until(t, "it is closed", func() bool { return s.Counts().Connections == i+1 && s.Counts().Open == 3 })
		}
		until(t, "it is counted", func() bool { return s.Counts().Connections == i+1 })
	}
	counts := s.Counts()
	if counts.Connections != 5 || counts.Open != 3 || counts.Peak != 4 || len(counts.Connected) != 5 {
		t.Errorf("counts: %+v", counts)
	}
	for _, at := range counts.Connected {
		if at.Before(began) || at.After(time.Now()) {
			t.Errorf("connected at %s", at)
		}
	}
}

func TestTheListOfTimesIsBounded(t *testing.T) {
	var c counter
	for range remembered + 10 {
		c.opened()
		c.requested(Request{})
	}
	if read := c.read(); len(read.Connected) != remembered || len(read.Latest) != remembered || read.Connections != remembered+10 || read.Requests != remembered+10 {
		t.Errorf("%d and %d are kept of %d", len(read.Connected), len(read.Latest), read.Connections)
	}
}

func TestAServerThatIsClosedCannotBeSet(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.TCP("192.0.2.10:5432"))
	c, err := dial(t, "192.0.2.10:5432", patience)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil || timedOut(err) && !errors.Is(err, io.EOF) {
		t.Errorf("an open connection after Close: %v", err)
	}
	if err := s.Set(Behavior{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Set after Close: %v", err)
	}
	if _, err := dial(t, "192.0.2.10:5432", patience); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after Close: %v", err)
	}
}
