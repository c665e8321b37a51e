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

type queryKey struct{ name, kind, transport string }

// queryCounter counts queries. It grows with the names that are asked for, not with the queries.
type queryCounter struct {
	guard  sync.Mutex // guards what follows
	counts map[queryKey]int
	total  int
	last   []Query
	hook   func(Query)
}

// OnQuery is called for every query before it is answered, so that the zone can change at that very
// moment. It must not block. Nil calls nothing.
func (q *queryCounter) OnQuery(call func(Query)) {
	q.guard.Lock()
	defer q.guard.Unlock()
	q.hook = call
}

// Total is how many queries came in all.
func (q *queryCounter) Total() int {
	q.guard.Lock()
	defer q.guard.Unlock()
	return q.total
}

// Count returns how many queries came for a name, by type and transport. An empty type or transport matches all.
func (q *queryCounter) Count(name, kind, transport string) int {
	q.guard.Lock()
	defer q.guard.Unlock()
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	total := 0
	if kind != "" && transport != "" {
		return q.counts[queryKey{name, kind, transport}]
	}
	for of, count := range q.counts {
		if of.name == name && (kind == "" || of.kind == kind) && (transport == "" || of.transport == transport) {
			total += count
		}
	}
	return total
}

// Queries are the latest 1000.
func (q *queryCounter) Queries() []Query {
	q.guard.Lock()
	defer q.guard.Unlock()
	return append([]Query(nil), q.last...)
}

func (q *queryCounter) asked(query Query) {
	q.guard.Lock()
	q.counts[queryKey{query.Name, query.Type, query.Transport}]++
	q.total++
	q.last = latest(q.last, query)
	hook := q.hook
	q.guard.Unlock()
	if hook != nil {
		hook(query)
	}
}
