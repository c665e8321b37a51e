// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"io"
	"net"
	"sync"
)

// conn is a connection that is counted until it is closed.
type conn struct {
	*net.TCPConn
	front *front
	once  sync.Once
}

func (c *conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		err = c.TCPConn.Close()
		c.front.mu.Lock()
		delete(c.front.open, c)
		c.front.mu.Unlock()
		c.front.counter.closed()
	})
	return err
}

// reset closes by RST.
func (c *conn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// discard reads until the client leaves.
func (c *conn) discard() {
	_, _ = io.Copy(io.Discard, c.TCPConn)
	_ = c.Close()
}

// babble sends bytes of no protocol, once the client has said something unless it greets.
func (c *conn) babble(greets bool) {
	if !greets {
		_, _ = c.Read(make([]byte, 4096))
	}
	if _, err := c.Write([]byte("\x00\xff%n<%s>\x1b[31m\r\n\x7f\x80\r\n\r\n")); err != nil {
		c.reset()
		return
	}
	_ = c.CloseWrite() // closing with unread bytes would reset, and lose the garbage
	c.discard()
}
