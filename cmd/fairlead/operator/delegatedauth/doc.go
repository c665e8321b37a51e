// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegatedauth has the API server authenticate and authorize the callers of an HTTP server: a TokenReview
// tells who holds a bearer token, and a SubjectAccessReview whether that user may do this with the path.
//
// Any pod may call such a server, and each new token takes a review. So reviews are bounded, for all callers and for
// each source address, refusals are remembered, and callers who were allowed within the last hour have reviews of
// their own, which those who were not cannot use up. It makes no connection: its client should have one that nothing
// else waits for.
package delegatedauth
