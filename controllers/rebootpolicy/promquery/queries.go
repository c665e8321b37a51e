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

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// interval between two askings of a query, and maxAge of an answer that opens a gate.
	interval = 15 * time.Second
	maxAge   = 3 * interval
	// workers ask at once. No more than maxQueries different ones are asked, and maxOfNamespace for the policies of a namespace.
	workers        = 8
	maxQueries     = 2000
	maxOfNamespace = 50
	// maxWords of an error, in bytes.
	maxWords = 300
)

// Why a gate is closed that nothing has answered for.
const (
	notConfigured = "no Prometheus server is asked: rebootPolicies.prometheus.url of the operator's configuration names it"
	notAnswered   = "its query was not answered yet: the operator asks at most 50 for the policies of a namespace, and 2000 in all"
	returns       = "its query returns results"
)

// query is one as the server is asked. The namespace is empty where the answer is the same for all.
type query struct{ namespace, text string }

// answer is the latest of a query.
type answer struct {
	closed string // why the gate is closed; empty where it is open
	time   time.Time
}

// Queries asks the queries of all policies while it runs. A nil one has no server, and all of its gates are closed. It is safe
// for concurrent use.
type Queries struct {
	ask          asker
	perNamespace bool
	notify       func(policy types.NamespacedName)
	now          func() time.Time
	changed      chan struct{}
	mu           sync.Mutex
	policies     map[types.NamespacedName][]query
	answers      map[query]answer
}

// New returns the Queries of a server; nil for one without a URL. Notify is called with each policy one of whose gates may have opened
// or closed; it must not block.
func New(s Server, notify func(policy types.NamespacedName)) *Queries {
	if s.URL == "" {
		return nil
	}
	return newQueries(s.newAsker(), s.NamespaceParameter != "", notify)
}

func newQueries(ask asker, perNamespace bool, notify func(policy types.NamespacedName)) *Queries {
	return &Queries{
		ask: ask, perNamespace: perNamespace, notify: notify, now: time.Now, changed: make(chan struct{}, 1),
		policies: map[types.NamespacedName][]query{}, answers: map[query]answer{},
	}
}

func (q *Queries) of(policy types.NamespacedName, text string) query {
	if q.perNamespace {
		return query{policy.Namespace, text}
	}
	return query{text: text}
}

// Set replaces the queries that are asked for a policy. A new one is asked at once.
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
		asked := q.of(policy, t)
		all = append(all, asked)
		if q.answers[asked].time.IsZero() {
			select {
			case q.changed <- struct{}{}:
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
	is := q.answers[q.of(policy, text)]
	if q.now().Sub(is.time) > maxAge {
		return notAnswered
	}
	return is.closed
}

// Run asks until ctx ends, and returns once nothing is asked any more.
func (q *Queries) Run(ctx context.Context) error {
	if q == nil {
		<-ctx.Done()
		return nil
	}
	next := time.NewTicker(interval)
	defer next.Stop()
	for {
		fresh := false
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		case <-q.changed:
			fresh = true
		}
		q.askAll(ctx, fresh)
	}
}

// askAll asks all queries, or only those without an answer.
func (q *Queries) askAll(ctx context.Context, fresh bool) {
	var group errgroup.Group
	group.SetLimit(workers)
	for _, wanted := range q.wanted(fresh) {
		group.Go(func() error {
			panics.Go("prometheus query", func() {
				if closed := q.closedBy(ctx, wanted); ctx.Err() == nil {
					q.record(wanted, closed)
				}
			})
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// wanted returns the queries to ask, and forgets the answers of all others.
func (q *Queries) wanted(fresh bool) (ask []query) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept, ofNamespace := map[query]answer{}, map[string]map[query]bool{}
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
			kept[wanted] = q.answers[wanted]
			if !fresh || kept[wanted].time.IsZero() {
				ask = append(ask, wanted)
			}
		}
	}
	q.answers = kept
	return ask
}

func byName(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

// closedBy asks a query, and returns why its gate is closed.
func (q *Queries) closedBy(ctx context.Context, asked query) string {
	some, err := q.ask(ctx, asked)
	switch {
	case err != nil:
		return text.Truncate(text.OneLine(err.Error()), maxWords)
	case some:
		return returns
	}
	return ""
}

// record notes an answer, and notifies of those that open or close a gate.
func (q *Queries) record(asked query, closed string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, wanted := q.answers[asked]
	if !wanted {
		return
	}
	q.answers[asked] = answer{closed, q.now()}
	if was.closed == closed && q.now().Sub(was.time) <= maxAge {
		return
	}
	for policy, all := range q.policies {
		if slices.Contains(all, asked) {
			q.notify(policy)
		}
	}
}
