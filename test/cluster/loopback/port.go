// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// firstPort and lastPort bound FreePort. They lie below the ranges that Linux (32768) and macOS
// (49152) draw the ports of outgoing connections from, and below the NodePorts of Kubernetes
// (30000): no client of a server that restarts can be given the server's own port meanwhile.
const (
	firstPort = 20000
	lastPort  = 29999
)

// FreePort returns a TCP port of 127.0.0.1 that nobody listens on at this moment. Somebody else may
// take it before its user does: whoever starts a server on it tries again with another one.
func FreePort() (int, error) {
	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // no secret depends on it
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if errors.Is(err, syscall.EADDRINUSE) {
			last = err
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("find a free port between %d and %d: %w", firstPort, lastPort, last)
}
