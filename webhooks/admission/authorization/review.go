// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// maxRights bounds how many rights are reviewed for one request.
	maxRights = 100
	// reviewsAtOnce bounds the access reviews of one request that are under way.
	reviewsAtOnce = 8
	// reviewsTimeout bounds all access reviews of one request together: the API server waits 5s for the
	// webhook.
	reviewsTimeout = 3 * time.Second
)

// tooMany is the error of an object that needs more rights than one request may ask about.
type tooMany struct{ needed int }

func (e tooMany) Error() string {
	return fmt.Sprintf("needs %d different rights of its writer, and at most %d can be asked about; name fewer objects, select them by labels, or split it",
		e.needed, maxRights)
}

// review returns which of the rights the user lacks, in their order. It asks about several at a time and
// each once, and fails with the first that cannot be found out: nothing is allowed then.
func review(ctx context.Context, reviewer Reviewer, user authenticationv1.UserInfo, rights []authorizationv1.ResourceAttributes) ([]authorizationv1.ResourceAttributes, error) {
	rights = distinct(rights)
	if len(rights) > maxRights {
		return nil, tooMany{len(rights)}
	}
	ctx, cancel := context.WithTimeout(ctx, reviewsTimeout)
	defer cancel()

	var (
		mu      sync.Mutex
		next    int
		failure error
		allowed = make([]bool, len(rights))
		workers sync.WaitGroup
	)
	take := func() int { // returns -1 where nothing is left to do
		mu.Lock()
		defer mu.Unlock()
		if failure != nil || next == len(rights) {
			return -1
		}
		next++
		return next - 1
	}
	for range min(reviewsAtOnce, len(rights)) {
		workers.Go(func() {
			for i := take(); i >= 0; i = take() {
				yes, err := tryAllowed(ctx, reviewer, user, rights[i])
				mu.Lock()
				if allowed[i] = yes; err != nil && failure == nil {
					failure = err
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failure != nil {
		return nil, failure
	}
	var lacking []authorizationv1.ResourceAttributes
	for i, right := range rights {
		if !allowed[i] {
			lacking = append(lacking, right)
		}
	}
	return lacking, nil
}

// tryAllowed turns a panic into an error: no handler above these goroutines would.
func tryAllowed(ctx context.Context, reviewer Reviewer, user authenticationv1.UserInfo, right authorizationv1.ResourceAttributes) (allowed bool, err error) {
	err = panics.Try("access review", func() (err error) {
		allowed, err = reviewer.Allowed(ctx, user, right)
		return err
	})
	return allowed, err
}

// distinct returns the rights without duplicates.
func distinct(rights []authorizationv1.ResourceAttributes) []authorizationv1.ResourceAttributes {
	seen := make(map[authorizationv1.ResourceAttributes]bool, len(rights))
	var out []authorizationv1.ResourceAttributes
	for _, right := range rights {
		if !seen[right] {
			seen[right] = true
			out = append(out, right)
		}
	}
	return out
}
