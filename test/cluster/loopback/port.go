// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// firstPort and lastPort bound FreePort. They lie below the ranges that Linux (32768) and macOS
// (49152) draw the ports of outgoing connections from, and below the NodePorts of Kubernetes
// (30000): no client of a server that restarts can be given the server's own port meanwhile.
const (
	firstPort = 20000
	lastPort  = 29999
)

// given are the ports that FreePort has given away. A server may take a while to listen on its own:
// of a hundred ports drawn at random meanwhile, two are the same two times in five.
var given struct {
	sync.Mutex
	ports map[int]bool
}

// give says whether a port was not given away before. When half of all are gone, all may be again.
func give(port int) bool {
	given.Lock()
	defer given.Unlock()
	if given.ports == nil || len(given.ports) > (lastPort-firstPort)/2 {
		given.ports = map[int]bool{}
	}
	fresh := !given.ports[port]
	given.ports[port] = true
	return fresh
}

// FreePort returns a TCP port of 127.0.0.1 that is not listened on at this moment, and that this
// process was not given before. Another process may take it before its user does: a caller that starts a
// server on it tries again with another one.
func FreePort() (int, error) {
	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // no secret depends on it
		if !give(port) {
			continue
		}
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
