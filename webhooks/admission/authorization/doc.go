// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization checks, at admission, whether the writer of an object has the rights to what the operator would
// do for it. The operator has more rights than most users, and must not lend them: a writer needs each right that the
// object needs. The approval is recorded on the object. The steps of the kinds call this package; their authorize.go
// lists the rights that an object needs.
//
// The steps of the kinds call it; which rights an object needs is decided in their authorize.go.
//
//   - needs.go: a right that a field of an object needs, and its refusal.
//   - entitlement.go: the approval of an object by its needs: stamped when it is mutated, verified when it
//     is validated.
//   - review.go: many rights of one request, each reviewed once, within one time limit.
//   - reviewer.go: one SubjectAccessReview; breaker.go: what an API server that does not respond costs.
//
// It writes nothing, so a dry run needs no exception. It reads the API server rather than a cache, within a time limit,
// and no object of Fairlead. If a right cannot be reviewed, the request is refused or retried on another replica;
// nothing is allowed.
package authorization
