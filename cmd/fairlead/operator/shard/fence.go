// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var errNotOurs = errors.New("the namespace is not reconciled by this shard")

// CheckWrite returns a function to call when a write has ended, or an error with the reason why it must not be sent.
// Writes without a namespace pass.
func (s *Shard) CheckWrite(r *http.Request) (end func(), err error) {
	name := requestNamespace(r.URL.Path)
	if name == "" {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil || e.phase != owned {
		return nil, fmt.Errorf("%w: %s is not in shard %s", errNotOurs, name, s.options.Name)
	}
	e.writes++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.writes--
	}, nil
}

func (s *Shard) writesTo(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		return e.writes
	}
	return 0
}

// requestNamespace returns the namespace of /api/v1/namespaces/NAME/pods and of /apis/GROUP/VERSION/namespaces/NAME/pods,
// which may have a prefix, and of the Namespace itself.
func requestNamespace(path string) string {
	_, after, found := strings.Cut(path, "/namespaces/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, "/")
	return name
}

// Wrap returns a reconciler that defers the objects of a namespace until it is the shard's. Those of a
// namespace that has left pass: the cache has none any more.
func (s *Shard) Wrap(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		if pause := s.deferral(request.Namespace); pause > 0 {
			return reconcile.Result{RequeueAfter: pause}, nil
		}
		result, err := inner.Reconcile(ctx, request)
		if errors.Is(err, errNotOurs) { // it has left in the meantime
			return reconcile.Result{RequeueAfter: maxDefer}, nil
		}
		return result, err
	})
}

// deferral is 0 for a namespace that is owned or has left. It grows with the time that the namespace waits.
func (s *Shard) deferral(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil || e.phase == owned {
		return 0
	}
	return min(max(time.Since(e.since)/4, 20*time.Millisecond), maxDefer)
}
