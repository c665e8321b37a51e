// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"strings"
	"sync"
	"time"
)

// Query is one question that the nameserver was asked.
type Query struct {
	Time time.Time
	// Name is in lower case, without the last dot.
	Name string
	// Type is A, AAAA, CNAME or SRV.
	Type string
	// Transport is "udp" or "tcp".
	Transport string
}

type tallied struct{ name, kind, transport string }

// tally counts queries. It grows with the names that are asked for, not with the queries.
type tally struct {
	guard  sync.Mutex // guards what follows
	counts map[tallied]int
	total  int
	last   []Query
	hook   func(Query)
}

// OnQuery is called for every query before it is answered, so that the zone can change at that very
// moment. It must not block. Nil calls nothing.
func (t *tally) OnQuery(call func(Query)) {
	t.guard.Lock()
	defer t.guard.Unlock()
	t.hook = call
}

// Total is how many queries came in all.
func (t *tally) Total() int {
	t.guard.Lock()
	defer t.guard.Unlock()
	return t.total
}

// Count is how many queries came for a name, by type and transport, each of which may be "" for
// all.
func (t *tally) Count(name, kind, transport string) int {
	t.guard.Lock()
	defer t.guard.Unlock()
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	total := 0
	if kind != "" && transport != "" {
		return t.counts[tallied{name, kind, transport}]
	}
	for of, count := range t.counts {
		if of.name == name && (kind == "" || of.kind == kind) && (transport == "" || of.transport == transport) {
			total += count
		}
	}
	return total
}

// Queries are the latest 1000.
func (t *tally) Queries() []Query {
	t.guard.Lock()
	defer t.guard.Unlock()
	return append([]Query(nil), t.last...)
}

func (t *tally) asked(q Query) {
	t.guard.Lock()
	t.counts[tallied{q.Name, q.Type, q.Transport}]++
	t.total++
	t.last = latest(t.last, q)
	hook := t.hook
	t.guard.Unlock()
	if hook != nil {
		hook(q)
	}
}
