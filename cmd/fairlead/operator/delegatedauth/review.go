// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delegatedauth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reviewTimeout bounds both reviews of a caller. Prometheus waits for 10 s by default.
const reviewTimeout = 5 * time.Second

// review asks the API server who holds the token, and whether that user may do this with the path.
func (f *Filter) review(ctx context.Context, token, verb, path string) (*refusal, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	holder, err := f.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create a TokenReview: %w", err)
	}
	if !holder.Status.Authenticated {
		return unauthenticated, nil
	}
	user := holder.Status.User
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: make(map[string]authorizationv1.ExtraValue, len(user.Extra)),
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
	}}
	for name, values := range user.Extra {
		access.Spec.Extra[name] = authorizationv1.ExtraValue(values)
	}
	if access, err = f.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, access, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create a SubjectAccessReview: %w", err)
	}
	if !access.Status.Allowed {
		return &refusal{"forbidden", http.StatusForbidden, fmt.Sprintf("user %.256q may not %s the path %.256s", user.Username, verb, path)}, nil
	}
	return nil, nil
}
