// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/polling"
)

var policy = types.NamespacedName{Namespace: "shop", Name: "p"}

func TestAGateIsOpenWhileItsQueryReturnsNothing(t *testing.T) {
	other := types.NamespacedName{Namespace: "bank", Name: "p"}
	for perNamespace, want := range map[bool]int{false: 1, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			var some bool
			var failure error
			evaluated := map[query]int{}
			var mu sync.Mutex
			q := newQueries(func(_ context.Context, of query) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				evaluated[of]++
				return some, failure
			}, perNamespace, func(types.NamespacedName) {})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- q.Run(ctx) }()
			q.Set(policy, []string{"ALERTS"})
			synctest.Wait()
			q.Set(other, []string{"ALERTS"})
			synctest.Wait()
			if len(evaluated) != want {
				t.Errorf("per namespace %t: evaluated %v", perNamespace, evaluated)
			}
			for _, step := range []struct {
				some   bool
				err    error
				closed string
			}{{true, nil, returns}, {false, errors.New("no route"), "no route"}, {false, nil, ""}} {
				mu.Lock()
				some, failure = step.some, step.err
				mu.Unlock()
				<-time.After(polling.Interval)
				synctest.Wait()
				if got := q.Closed(policy, "ALERTS"); got != step.closed {
					t.Errorf("closed by %q, want %q", got, step.closed)
				}
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutAServerEachGateIsClosed(t *testing.T) {
	none := New(Server{}, func(types.NamespacedName) {})
	none.Set(policy, []string{"ALERTS"})
	if got := none.Closed(policy, "ALERTS"); !strings.Contains(got, "rebootPolicies.prometheus.url") {
		t.Errorf("%q", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := none.Run(ctx); err != nil {
		t.Error(err)
	}
}
