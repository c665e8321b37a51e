// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// interval between two evaluations of a query, and maxAge of a result that opens a gate.
	interval = 15 * time.Second
	maxAge   = 3 * interval
	// workers is how many queries are evaluated at once. There are at most maxQueries, and maxOfNamespace for the policies of a
	// namespace.
	workers        = 8
	maxQueries     = 2000
	maxOfNamespace = 50
	// maxWords of an error, in bytes.
	maxWords = 300
)

// Why a gate is closed that no error closes.
var (
	notConfigured = "no Prometheus server is queried: rebootPolicies.prometheus.url of the operator's configuration names it"
	tooMany       = fmt.Sprintf("its query is not evaluated: the operator evaluates at most %d for the policies of a namespace, and %d in all",
		maxOfNamespace, maxQueries)
	notEvaluated = "its query was not evaluated yet"
	tooOld       = fmt.Sprintf("its last result is older than %s: the queries for its namespace take too long",
		common.DurationOf(maxAge))
	returns = "its query returns results"
)

// query is one that the server evaluates. The namespace is empty where the result is the same for all.
type query struct{ namespace, text string }

// evaluation is the latest of a query.
type evaluation struct {
	closed   string    // why the gate is closed; empty where it is open
	answered time.Time // zero before the first result
	due      time.Time // zero for one that is new
	running  bool
}

// turn is the share of a namespace. A query that several namespaces have is in the turn of each: none can delay it for another.
type turn struct {
	queries []query
	running int
	last    time.Time // when one of its queries was started
}

// Queries evaluates the queries of all policies while it runs. A nil one has no server, and all of its gates are closed. It is safe
// for concurrent use.
type Queries struct {
	evaluate     evaluator
	perNamespace bool
	notify       func(policy types.NamespacedName)
	changed      chan struct{} // there may be something to start

	mu          sync.Mutex
	policies    map[types.NamespacedName][]query
	evaluations map[query]*evaluation
	turns       map[string]*turn // by namespace of the policies
	stale       bool             // evaluations and turns are to follow the policies
	running     int
}

// New returns the Queries of a server; nil for one without a URL. Notify is called with each policy one of whose gates may have opened
// or closed; it must not block.
func New(s Server, notify func(policy types.NamespacedName)) *Queries {
	if s.URL == "" {
		return nil
	}
	return newQueries(s.evaluator(), s.NamespaceParameter != "", notify)
}

func newQueries(evaluate evaluator, perNamespace bool, notify func(policy types.NamespacedName)) *Queries {
	return &Queries{
		evaluate: evaluate, perNamespace: perNamespace, notify: notify, changed: make(chan struct{}, 1),
		policies: map[types.NamespacedName][]query{}, evaluations: map[query]*evaluation{}, turns: map[string]*turn{},
	}
}

func (q *Queries) of(policy types.NamespacedName, text string) query {
	if q.perNamespace {
		return query{policy.Namespace, text}
	}
	return query{text: text}
}

// Set replaces the queries of a policy. A new one is evaluated at once.
func (q *Queries) Set(policy types.NamespacedName, texts []string) {
	if q == nil {
		return
	}
	all := make([]query, 0, len(texts))
	for _, text := range texts {
		all = append(all, q.of(policy, text))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Equal(q.policies[policy], all) {
		return
	}
	q.policies[policy] = all
	if len(all) == 0 {
		delete(q.policies, policy)
	}
	q.stale = true
	q.wake()
}

func (q *Queries) wake() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// Closed returns why a query that was set for a policy closes its gate; "" if it is open.
func (q *Queries) Closed(policy types.NamespacedName, text string) string {
	if q == nil {
		return notConfigured
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	wanted := q.of(policy, text)
	latest := q.evaluations[wanted]
	switch {
	case latest == nil && !q.stale && slices.Contains(q.policies[policy], wanted):
		return tooMany
	case latest == nil || latest.answered.IsZero():
		return notEvaluated
	case time.Since(latest.answered) > maxAge:
		return tooOld
	}
	return latest.closed
}

// Run evaluates until ctx ends, and returns once no query is running.
func (q *Queries) Run(ctx context.Context) error {
	if q == nil {
		<-ctx.Done()
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		started, wait := q.start(time.Now())
		if started != nil {
			running.Go(func() {
				defer q.end(started)
				panics.Go("prometheus query", func() { q.answer(ctx, started) })
			})
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-q.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// started is a query that is running.
type started struct {
	query
	*evaluation
	turn *turn
}

// start chooses the namespace that has the fewest queries running, among these the one whose last start is the longest ago, and of its
// queries the one that is due for the longest time. So each namespace is evaluated in time, however slow the queries of others are. If
// nothing is due or all workers are busy, it returns how long to wait, at most.
func (q *Queries) start(now time.Time) (*started, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stale {
		q.share()
	}
	if q.running == workers {
		return nil, interval
	}
	wait := interval
	var best *started
	for _, of := range q.turns {
		if best != nil && cmp.Or(cmp.Compare(of.running, best.turn.running), of.last.Compare(best.turn.last)) >= 0 {
			continue
		}
		var first *evaluation
		for _, one := range of.queries {
			e := q.evaluations[one]
			if e.running || first != nil && !e.due.Before(first.due) {
				continue
			}
			wait = min(wait, max(0, e.due.Sub(now)))
			if !e.due.After(now) {
				first, best = e, &started{one, e, of}
			}
		}
	}
	if best == nil {
		return nil, wait
	}
	best.running, best.due = true, now.Add(interval)
	best.turn.last = now
	best.turn.running++
	q.running++
	return best, 0
}

func (q *Queries) end(of *started) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	of.turn.running--
	of.running = false
	q.wake()
}

// share chooses the queries that are evaluated, and forgets the results of all others. Where there are more than maxQueries, each
// namespace has as many as any other.
func (q *Queries) share() {
	q.stale = false
	turns := q.turnsOfPolicies()
	kept := map[query]*evaluation{}
	namespaces := slices.Sorted(maps.Keys(turns))
	for i := range maxOfNamespace {
		for _, namespace := range namespaces {
			if of := turns[namespace]; i < len(of.queries) && (kept[of.queries[i]] != nil || len(kept) < maxQueries) {
				kept[of.queries[i]] = cmp.Or(q.evaluations[of.queries[i]], &evaluation{})
			}
		}
	}
	for _, of := range turns {
		of.queries = slices.DeleteFunc(of.queries, func(one query) bool { return kept[one] == nil })
	}
	q.evaluations, q.turns = kept, turns
}

// turnsOfPolicies returns the turn of each namespace, with as many of its queries as a namespace may have.
func (q *Queries) turnsOfPolicies() map[string]*turn {
	turns := map[string]*turn{}
	for _, policy := range slices.SortedFunc(maps.Keys(q.policies), byName) {
		of := turns[policy.Namespace]
		if of == nil {
			of = &turn{}
			if was := q.turns[policy.Namespace]; was != nil {
				of = was
				of.queries = nil
			}
			turns[policy.Namespace] = of
		}
		for _, one := range q.policies[policy] {
			if len(of.queries) < maxOfNamespace && !slices.Contains(of.queries, one) {
				of.queries = append(of.queries, one)
			}
		}
	}
	return turns
}

func byName(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

// answer evaluates a query, and notifies of a result that opens or closes a gate.
func (q *Queries) answer(ctx context.Context, of *started) {
	closed := q.closedBy(ctx, of.query)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.evaluations[of.query] != of.evaluation || ctx.Err() != nil {
		return
	}
	was := *of.evaluation
	of.closed, of.answered = closed, time.Now()
	if was.closed == closed && time.Since(was.answered) <= maxAge {
		return
	}
	for policy, all := range q.policies {
		if slices.Contains(all, of.query) {
			q.notify(policy)
		}
	}
}

// closedBy evaluates a query, and returns why its gate is closed.
func (q *Queries) closedBy(ctx context.Context, of query) string {
	some, err := q.evaluate(ctx, of)
	switch {
	case err != nil:
		return text.Truncate(text.OneLine(err.Error()), maxWords)
	case some:
		return returns
	}
	return ""
}
