// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization checks, at admission, whether the writer of an object has the rights to what the operator would
// do for it. The operator has more rights than most users, and must not lend them: a writer needs each right that the
// object needs. The approval is recorded on the object. The steps of the kinds call this package. authorize.go
// of each kind, such as webhooks/admission/externalservice, lists the rights that an object needs.
//
//   - needs.go: a right that a field of an object needs, and its refusal.
//   - entitlement.go: the approval of an object by its needs: stamped when it is mutated, verified when it
//     is validated.
//   - review.go: many rights of one request, each reviewed once, within one time limit.
//   - reviewer.go: one SubjectAccessReview; breaker.go: what an API server that does not respond costs.
//   - hosts.go: addresses that the egress policy denies to the operator, whatever the rights of the writer.
//
// It writes nothing, so a dry run needs no exception. It reads the API server rather than a cache, within a time limit,
// and no object of Fairlead. If a right cannot be reviewed, the request is refused or retried on another replica;
// nothing is allowed.
package authorization
