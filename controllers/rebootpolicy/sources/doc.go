// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources observes ConfigMaps, Secrets and SecretProviderClasses for RebootPolicies: it returns what they hold as fingerprints, and
// notifies the policies that observe them when that may have changed.
//
// It watches the metadata of all of them (watch.go), and reads from the API server (reader.go) what a policy observes,
// only after its metadata changed (observe.go, object.go): memory grows with what is observed, not with the Secrets of
// the cluster. Where the operator may not list or watch, it polls, which needs the verb get alone. content.go makes
// fingerprints of what was read, and finds out when it was written; owners.go has which policy observes what.
//
// What a SecretProviderClass holds is known from the pods that have mounted it (mounts.go), which the cache has, where the API
// server serves it.
//
// It never keeps content, never writes, and decides nothing. Its results are a cache: the caller stores baselines.
package sources
