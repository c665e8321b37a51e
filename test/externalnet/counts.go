// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"sync"
	"time"
)

// remembered is how many of the latest connections, requests or queries are kept with their times.
const remembered = 1000

// Request is one request of HTTP or one call of gRPC.
type Request struct {
	Time time.Time
	// Method is the one of HTTP, or the full one of gRPC.
	Method string
	// Host is the Host header, or the authority of gRPC.
	Host string
	// Path is the one of HTTP with its query, or the service that a health check is about.
	Path string
	// UserAgent is the client's word for itself.
	UserAgent string
	// ServerName is the name that the client asked for in TLS.
	ServerName string
}

// Counts counts the connections and requests of a server since it was opened.
type Counts struct {
	// Connections were accepted in all. Open of them are open now, and at most Peak were open at once.
	Connections, Open, Peak int
	// Requests were made in all.
	Requests int
	// Connected are the times of the latest 1000 connections, and Latest the latest 1000 requests.
	Connected []time.Time
	Latest    []Request
}

// counter counts. Its lists are bounded.
type counter struct {
	mu     sync.Mutex // guards counts
	counts Counts
}

func (c *counter) opened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Connections++
	c.counts.Open++
	c.counts.Peak = max(c.counts.Peak, c.counts.Open)
	c.counts.Connected = latest(c.counts.Connected, time.Now())
}

func (c *counter) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Open--
}

func (c *counter) requested(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Time = time.Now()
	c.counts.Requests++
	c.counts.Latest = latest(c.counts.Latest, r)
}

func (c *counter) read() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.counts
	read.Connected = append([]time.Time(nil), read.Connected...)
	read.Latest = append([]Request(nil), read.Latest...)
	return read
}

// latest appends and keeps the list at its bound.
func latest[T any](list []T, value T) []T {
	if len(list) == remembered {
		copy(list, list[1:])
		list = list[:remembered-1]
	}
	return append(list, value)
}
