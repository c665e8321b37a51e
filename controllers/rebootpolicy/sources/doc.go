// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources says what ConfigMaps and Secrets hold now, as fingerprints, and tells those who
// asked when that may have changed.
//
// It watches the metadata of all of them, and reads live what a policy asked for and only after its
// metadata changed: memory grows with what is observed, not with the Secrets of the cluster. Where
// the operator may not list or watch, it polls what was asked for, which needs the verb get alone.
//
// It never keeps content, never writes, and decides nothing. What it remembers is a cache: a
// baseline is the caller's to store.
package sources
