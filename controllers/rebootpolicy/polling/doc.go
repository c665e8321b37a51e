// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polling evaluates what the gates of policies ask outside of the cache, every 15 seconds. Namespaces take turns, so that no
// namespace delays the gates of another.
//
// The package does not know what is evaluated, and remembers one result of each question: why its gate is closed.
package polling
