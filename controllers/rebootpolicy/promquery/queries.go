// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

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
const (
	notConfigured = "no Prometheus server is queried: rebootPolicies.prometheus.url of the operator's configuration names it"
	notEvaluated  = "its query was not evaluated yet: the operator has at most 50 for the policies of a namespace, and 2000 in all"
	returns       = "its query returns results"
)

// query is one that the server evaluates. The namespace is empty where the result is the same for all.
type query struct{ namespace, text string }

// result is the latest of a query.
type result struct {
	closed string // why the gate is closed; empty where it is open
	time   time.Time
}

// Queries evaluates the queries of all policies while it runs. A nil one has no server, and all of its gates are closed. It is safe
// for concurrent use.
type Queries struct {
	evaluate     evaluator
	perNamespace bool
	notify       func(policy types.NamespacedName)
	added        chan struct{}

	mu       sync.Mutex
	policies map[types.NamespacedName][]query
	results  map[query]result
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
		evaluate: evaluate, perNamespace: perNamespace, notify: notify, added: make(chan struct{}, 1),
		policies: map[types.NamespacedName][]query{}, results: map[query]result{},
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
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.policies, policy)
	if len(texts) == 0 {
		return
	}
	all := make([]query, 0, len(texts))
	for _, t := range texts {
		one := q.of(policy, t)
		all = append(all, one)
		if q.results[one].time.IsZero() {
			select {
			case q.added <- struct{}{}:
			default:
			}
		}
	}
	q.policies[policy] = all
}

// Closed returns why a query that was set for a policy closes its gate; "" if it is open.
func (q *Queries) Closed(policy types.NamespacedName, text string) string {
	if q == nil {
		return notConfigured
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	is := q.results[q.of(policy, text)]
	if time.Since(is.time) > maxAge {
		return notEvaluated
	}
	return is.closed
}

// Run evaluates until ctx ends, and returns once no query is in flight.
func (q *Queries) Run(ctx context.Context) error {
	if q == nil {
		<-ctx.Done()
		return nil
	}
	next := time.NewTicker(interval)
	defer next.Stop()
	for {
		onlyNew := false
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		case <-q.added:
			onlyNew = true
		}
		q.evaluateAll(ctx, onlyNew)
	}
}

// evaluateAll evaluates all queries, or only those without a result.
func (q *Queries) evaluateAll(ctx context.Context, onlyNew bool) {
	wanted := q.wanted(onlyNew)
	workqueue.ParallelizeUntil(ctx, workers, len(wanted), func(i int) {
		panics.Go("prometheus query", func() {
			if closed := q.closedBy(ctx, wanted[i]); ctx.Err() == nil {
				q.record(wanted[i], closed)
			}
		})
	})
}

// wanted returns the queries to evaluate, and forgets the results of all others.
func (q *Queries) wanted(onlyNew bool) (evaluate []query) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept, ofNamespace := map[query]result{}, map[string]map[query]bool{}
	for _, policy := range slices.SortedFunc(maps.Keys(q.policies), byName) {
		of := ofNamespace[policy.Namespace]
		if of == nil {
			of = map[query]bool{}
			ofNamespace[policy.Namespace] = of
		}
		for _, wanted := range q.policies[policy] {
			if !of[wanted] && len(of) == maxOfNamespace {
				continue
			}
			of[wanted] = true
			if _, has := kept[wanted]; has || len(kept) == maxQueries {
				continue
			}
			kept[wanted] = q.results[wanted]
			if !onlyNew || kept[wanted].time.IsZero() {
				evaluate = append(evaluate, wanted)
			}
		}
	}
	q.results = kept
	return evaluate
}

func byName(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

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

// record stores a result, and notifies of one that opens or closes a gate.
func (q *Queries) record(of query, closed string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, wanted := q.results[of]
	if !wanted {
		return
	}
	q.results[of] = result{closed, time.Now()}
	if was.closed == closed && time.Since(was.time) <= maxAge {
		return
	}
	for policy, all := range q.policies {
		if slices.Contains(all, of) {
			q.notify(policy)
		}
	}
}
