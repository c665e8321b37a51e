// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// maxRights bounds how many rights are reviewed for one request.
	maxRights = 100
	// reviewsAtOnce bounds the concurrent access reviews of one request. An authorizer outside of the cluster may take
	// 0.6s for each (Azure RBAC, projectcapsule/capsule-proxy#1028), and maxRights must be reviewed within
	// reviewsTimeout.
	reviewsAtOnce = 40
	// reviewsTimeout bounds all access reviews of one request together. The API server waits 5s for the webhook.
	reviewsTimeout = 3 * time.Second
)

// tooMany is the error of an object that needs more than maxRights rights.
type tooMany struct{ needed int }

func (e tooMany) Error() string {
	return fmt.Sprintf("needs %d different rights of its writer, and at most %d can be asked about; name fewer objects, select them by labels, or split it",
		e.needed, maxRights)
}

// review returns which of the rights the user lacks, in their order. If several objects of one resource are named, it
// first reviews the right to all of them. Most users have that right, and an authorizer may be slow or expensive. It
// fails at the first review that fails.
func review(
	ctx context.Context, reviewer Reviewer, user authenticationv1.UserInfo, rights []authorizationv1.ResourceAttributes,
) ([]authorizationv1.ResourceAttributes, error) {
	rights = distinct(rights)
	if len(rights) > maxRights {
		return nil, tooMany{len(rights)}
	}
	ctx, cancel := context.WithTimeout(ctx, reviewsTimeout)
	defer cancel()

	unnamed, _, err := ask(ctx, reviewer, user, namespaceWide(rights))
	if err != nil {
		return nil, unanswered{0, len(rights), err}
	}
	named := slices.DeleteFunc(slices.Clone(rights), func(right authorizationv1.ResourceAttributes) bool {
		right.Name = ""
		return unnamed[right]
	})
	allowed, answered, err := ask(ctx, reviewer, user, named)
	if err != nil {
		return nil, unanswered{len(rights) - len(named) + answered, len(rights), err}
	}
	return slices.DeleteFunc(named, func(right authorizationv1.ResourceAttributes) bool { return allowed[right] }), nil
}

// unanswered is the error if some reviews have no result.
type unanswered struct {
	answered, asked int
	cause           error
}

func (e unanswered) Error() string {
	return fmt.Sprintf("the authorizer answered %d of %d questions about rights: %v", e.answered, e.asked, e.cause)
}

func (e unanswered) Unwrap() error { return e.cause }

// namespaceWide returns the right to all objects of each resource that several rights name. To an authorizer, an empty
// name means all objects (authorization.k8s.io/v1, ResourceAttributes).
func namespaceWide(rights []authorizationv1.ResourceAttributes) (wide []authorizationv1.ResourceAttributes) {
	named := map[authorizationv1.ResourceAttributes]int{}
	for _, right := range rights {
		if right.Name == "" {
			continue
		}
		right.Name = ""
		if named[right]++; named[right] == 2 {
			wide = append(wide, right)
		}
	}
	return wide
}

// ask reviews the rights, several at a time. It returns which of them the user has, and how many reviews had a result.
// It ends at the first failure.
func ask(
	ctx context.Context, reviewer Reviewer, user authenticationv1.UserInfo, rights []authorizationv1.ResourceAttributes,
) (allowed map[authorizationv1.ResourceAttributes]bool, answered int, failure error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu      sync.Mutex
		next    int
		workers sync.WaitGroup
	)
	allowed = make(map[authorizationv1.ResourceAttributes]bool, len(rights))
	take := func() int { // returns -1 if nothing is left to do
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
				switch {
				case err == nil:
					answered++
					allowed[rights[i]] = yes
				case failure == nil:
					failure = err
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return allowed, answered, failure
}

// tryAllowed turns a panic into an error. These goroutines have no handler above them that recovers.
func tryAllowed(
	ctx context.Context, reviewer Reviewer, user authenticationv1.UserInfo, right authorizationv1.ResourceAttributes,
) (allowed bool, err error) {
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
