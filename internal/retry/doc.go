// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry repeats an attempt until it succeeds, until its error is final, or until the context
// ends. It is the one retry loop of the operator: for the API server at the start, for certificates,
// for caches and for controllers that must be started again.
//
// It never repeats without a wait, and never logs the same error twice in one call.
package retry
