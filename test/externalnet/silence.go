// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// silence is an address where a SYN gets no answer: a listener that accepts nothing, whose queue
// is full. The kernel then drops what comes.
type silence struct {
	listener int
	fillers  []net.Conn
}

// filling bounds how many connections are tried to fill a queue of length zero, which holds one.
const filling = 8

func keepSilent(local netip.AddrPort) (*silence, error) {
	syscall.ForkLock.RLock() // a process that starts meanwhile would keep the listener open
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("silence at %s: %w", local, err)
	}
	s := &silence{listener: fd}
	if err := errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(local.Port()), Addr: local.Addr().As4()}),
		syscall.Listen(fd, 0),
	); err != nil {
		s.Close()
		return nil, fmt.Errorf("silence at %s: %w", local, err)
	}
	for range filling {
		dialer := net.Dialer{Timeout: 100 * time.Millisecond}
		filler, err := dialer.DialContext(context.Background(), "tcp4", local.String())
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return s, nil
		}
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("silence at %s: %w", local, err)
		}
		s.fillers = append(s.fillers, filler)
	}
	s.Close()
	return nil, fmt.Errorf("silence at %s: %d connections did not fill the queue", local, filling)
}

func (s *silence) Close() {
	_ = syscall.Close(s.listener)
	for _, filler := range s.fillers {
		_ = filler.Close()
	}
}
