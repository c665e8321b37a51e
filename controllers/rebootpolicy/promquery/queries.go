// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/polling"
)

// Why a gate is closed that no error closes.
const (
	notConfigured = "no Prometheus server is queried: rebootPolicies.prometheus.url of the operator's configuration names it"
	returns       = "its query returns results"
)

// query is one that the server evaluates. The namespace is empty where the result is the same for all.
type query struct{ namespace, text string }

// Queries evaluates the queries of all policies while it runs. A nil one has no server, and all of its gates are closed. It is safe
// for concurrent use.
type Queries struct {
	poller       *polling.Poller[query]
	perNamespace bool
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
	return &Queries{perNamespace: perNamespace, poller: polling.New(polling.Options[query]{
		Noun: "query", Done: "evaluated", Notify: notify,
		Evaluate: func(ctx context.Context, of query) string {
			some, err := evaluate(ctx, of)
			switch {
			case err != nil:
				return err.Error()
			case some:
				return returns
			}
			return ""
		},
	})}
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
	q.poller.Set(policy, all)
}

// Closed returns why a query that was set for a policy closes its gate; "" if it is open.
func (q *Queries) Closed(policy types.NamespacedName, text string) string {
	if q == nil {
		return notConfigured
	}
	return q.poller.Closed(policy, q.of(policy, text))
}

// Run evaluates until ctx ends, and returns once no query is running.
func (q *Queries) Run(ctx context.Context) error {
	if q == nil {
		<-ctx.Done()
		return nil
	}
	return q.poller.Run(ctx)
}
