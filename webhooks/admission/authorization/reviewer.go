// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// reviewTimeout bounds one review.
	reviewTimeout = 2 * time.Second
	// keepAllowed is how long an allowed right is remembered: the mutating and the validating webhook ask for the same
	// rights. A denied right is not remembered, so that a right that was just granted counts.
	keepAllowed = 10 * time.Second
)

// Reviewer reports whether a user may do something.
type Reviewer interface {
	// Allowed returns an error if the review fails. The caller must then allow nothing.
	Allowed(ctx context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error)
}

// ReviewerOptions are the options of NewReviewer.
type ReviewerOptions struct {
	// Client creates SubjectAccessReviews. Required.
	Client kubernetes.Interface
	// Local creates LocalSubjectAccessReviews instead. They need the right to create them in each namespace only.
	// Defaults to false.
	Local bool
	// Most bounds how many allowed rights are remembered. Defaults to 1024.
	Most int
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

type reviewer struct {
	options ReviewerOptions

	breaker apiServerBreaker

	mu       sync.Mutex
	allowed  map[[sha256.Size]byte]time.Time // until when
	underWay map[[sha256.Size]byte]*question
}

// question is a review that is under way. Other requests for the same right wait for its result: a GitOps controller
// writes many objects at a time. A denied right is not remembered after that.
type question struct {
	answered chan struct{} // closed once the fields below are set
	allowed  bool
	err      error
	// abandoned means that the request which sent the review was canceled. The others then send one of their own.
	abandoned bool
}

var _ Reviewer = (*reviewer)(nil)

// NewReviewer returns a Reviewer that creates SubjectAccessReviews.
func NewReviewer(o ReviewerOptions) Reviewer {
	if o.Most <= 0 {
		o.Most = 1024
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &reviewer{options: o, allowed: map[[sha256.Size]byte]time.Time{}, underWay: map[[sha256.Size]byte]*question{}}
}

func (r *reviewer) Allowed(ctx context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &what, User: user.Username, UID: user.UID, Groups: user.Groups,
	}}
	for key, values := range user.Extra {
		if review.Spec.Extra == nil {
			review.Spec.Extra = make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		}
		review.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	spec, err := json.Marshal(review.Spec)
	if err != nil {
		return false, err
	}
	key := sha256.Sum256(spec)
	for {
		q, isFirst := r.join(key)
		switch {
		case q == nil:
			return true, nil
		case isFirst:
			return r.answer(ctx, key, q, review)
		}
		select {
		case <-q.answered:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if !q.abandoned {
			return q.allowed, q.err
		}
	}
}

// join returns the review of a right that is under way, or a new one, which the caller must then send. It returns nil
// if the right is remembered as allowed.
func (r *reviewer) join(key [sha256.Size]byte) (q *question, isFirst bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Now().Before(r.allowed[key]) {
		return nil, false
	}
	if q = r.underWay[key]; q != nil {
		return q, false
	}
	q = &question{answered: make(chan struct{}), abandoned: true}
	r.underWay[key] = q
	return q, true
}

// answer sends the review for all requests that wait for it.
func (r *reviewer) answer(
	ctx context.Context, key [sha256.Size]byte, q *question, review *authorizationv1.SubjectAccessReview,
) (bool, error) {
	defer func() {
		r.mu.Lock()
		delete(r.underWay, key)
		r.mu.Unlock()
		close(q.answered)
	}()
	sent := r.options.Now()
	q.allowed, q.err = r.review(ctx, review)
	q.abandoned = ctx.Err() != nil // stays true if the review panics
	if q.allowed {
		r.remember(key, sent)
	}
	return q.allowed, q.err
}

// review sends a review, unless the API server has not responded recently.
func (r *reviewer) review(ctx context.Context, review *authorizationv1.SubjectAccessReview) (bool, error) {
	if !r.breaker.allow(r.options.Now()) {
		return false, errors.New("SubjectAccessReview: the API server did not answer a moment ago")
	}
	responded := false
	defer func() { // runs even if the call panics
		if !responded && ctx.Err() != nil {
			r.breaker.abandon()
			return
		}
		r.breaker.done(responded, r.options.Now())
	}()
	limited, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	status, err := r.create(limited, review)
	responded = err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	switch {
	case err != nil:
		return false, fmt.Errorf("SubjectAccessReview: %w", err)
	case status.Allowed && !status.Denied:
		return true, nil
	case status.EvaluationError != "" && !status.Denied:
		return false, errors.New("SubjectAccessReview: " + status.EvaluationError)
	}
	return false, nil
}

func (r *reviewer) create(
	ctx context.Context, review *authorizationv1.SubjectAccessReview,
) (authorizationv1.SubjectAccessReviewStatus, error) {
	client, namespace := r.options.Client.AuthorizationV1(), review.Spec.ResourceAttributes.Namespace
	if !r.options.Local {
		reviewed, err := client.SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return authorizationv1.SubjectAccessReviewStatus{}, err
		}
		return reviewed.Status, nil
	}
	local := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: review.Spec}
	reviewed, err := client.LocalSubjectAccessReviews(namespace).Create(ctx, local, metav1.CreateOptions{})
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	return reviewed.Status, nil
}

// remember records an allowed right. If there is no room, it removes the expired ones, or all of them if none has
// expired.
func (r *reviewer) remember(key [sha256.Size]byte, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.allowed) >= r.options.Most {
		for other, until := range r.allowed {
			if !sent.Before(until) {
				delete(r.allowed, other)
			}
		}
	}
	if len(r.allowed) >= r.options.Most {
		clear(r.allowed)
	}
	r.allowed[key] = sent.Add(keepAllowed)
}
