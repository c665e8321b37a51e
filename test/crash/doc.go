// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash breaks the operator at every request of a restart, and of a run of a ChaosPod: a proxy between it and the API
// server kills its process just before or just after a request, loses an answer, or answers in the
// API server's place. Whatever is broken, a change leads to exactly one restart.
//
// It knows nothing of how many requests there are, or which: it counts them, and goes on until there
// is none left to break.
//
// Ring 2 for a restart, at a sample of its requests. The others are in ring 3.
package crash
