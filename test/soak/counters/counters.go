// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package counters

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome is the outcome of a request.
type Outcome int

const (
	// OK is the answer that was wanted, which may be a refusal.
	OK Outcome = iota
	// Failed is any other answer.
	Failed
	// Unavailable is no answer, or one that says that there will be none now: the API server itself, or
	// what it stores in, was away.
	Unavailable
	// Deferred is an answer of 429: the API server fills a cache, and says when to come again. Clients of
	// Kubernetes do, by themselves.
	Deferred
	outcomes
)

// Bounds of what is remembered.
const (
	// maxTimes is how many durations are kept; percentiles are those of the first so many.
	maxTimes = 1 << 20
	// maxReasons is how many different reasons are told apart.
	maxReasons = 50
	// other is the reason of all further ones.
	other = "other reasons"
	// maxFailures is how many failed requests are remembered one by one.
	maxFailures = 1000
)

// Request is the record of one request.
type Request struct {
	// Kind of request, such as "create v1".
	Kind    string
	Outcome Outcome
	// Reason says what was wrong; empty where nothing was.
	Reason string
	// Sent is when, and Took how long until the answer.
	Sent time.Time
	Took time.Duration
}

// Counters counts requests. Its methods may be called from any goroutine.
type Counters struct {
	mu      sync.Mutex
	times   []time.Duration
	counts  [outcomes]int
	kinds   map[string]int
	reasons map[string]*Reason
	failed  []Request
}

// New makes an empty one.
func New() *Counters {
	return &Counters{kinds: map[string]int{}, reasons: map[string]*Reason{}}
}

// Add counts one request.
func (c *Counters) Add(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[r.Outcome]++
	c.kinds[r.Kind]++
	if r.Outcome < Unavailable && len(c.times) < maxTimes {
		c.times = append(c.times, r.Took)
	}
	if r.Outcome == OK {
		return
	}
	if r.Outcome != Deferred && len(c.failed) < maxFailures {
		c.failed = append(c.failed, r)
	}
	text := r.Kind + ": " + r.Reason
	if _, known := c.reasons[text]; !known && len(c.reasons) >= maxReasons {
		text = other
	}
	reason := c.reasons[text]
	if reason == nil {
		reason = &Reason{Text: text, Outcome: r.Outcome, First: r.Sent}
		c.reasons[text] = reason
	}
	reason.Count++
	reason.Last = r.Sent
}

// Sent is how many requests were counted so far.
func (c *Counters) Sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent()
}

func (c *Counters) sent() int {
	sent := 0
	for _, n := range c.counts {
		sent += n
	}
	return sent
}

// Reason is why requests failed.
type Reason struct {
	Text        string
	Outcome     Outcome
	Count       int
	First, Last time.Time
}

// Sum is the outcome of all requests.
type Sum struct {
	Sent, Failed, Unavailable, Deferred int
	// P50, P99 and Max are of the requests that were answered.
	P50, P99, Max time.Duration
	// Kinds is how many requests there were of each kind.
	Kinds map[string]int
	// Reasons are the most frequent first.
	Reasons []Reason
	// Lost are the requests that failed or were unavailable, the first maxFailures of them, in the order
	// in which that was known.
	Lost []Request
}

// Sum adds up.
func (c *Counters) Sum() Sum {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Sum{
		Sent: c.sent(), Failed: c.counts[Failed], Unavailable: c.counts[Unavailable], Deferred: c.counts[Deferred],
		Kinds: map[string]int{}, Lost: slices.Clone(c.failed),
	}
	for kind, n := range c.kinds {
		s.Kinds[kind] = n
	}
	sorted := slices.Clone(c.times)
	slices.Sort(sorted)
	s.P50, s.P99, s.Max = Percentile(sorted, 50), Percentile(sorted, 99), Percentile(sorted, 100)
	for _, reason := range c.reasons {
		s.Reasons = append(s.Reasons, *reason)
	}
	slices.SortFunc(s.Reasons, func(a, b Reason) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Text, b.Text)
	})
	return s
}

// Percentile is the smallest of the sorted values that p percent of them do not exceed; 0 of none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[min(max(rank, 1), len(sorted))-1]
}
