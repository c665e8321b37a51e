// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"errors"
	"net"
	"time"
)

// accept hands on every connection until the socket is closed. If accepting fails for now, for example because no file
// descriptor is free, it tries again until done.
func accept(socket net.Listener, done <-chan struct{}, admit func(*net.TCPConn)) {
	for {
		accepted, err := socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		default:
			if tcp, ok := accepted.(*net.TCPConn); ok {
				admit(tcp)
			}
		}
	}
}
