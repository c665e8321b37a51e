// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package forecast foresees which workloads restart if a ConfigMap or Secret changes, or if manifests are applied: by which
// policy and trigger, in which order and window, and what holds them now.
//
// OfSource assumes a change, and OfManifests compares manifests with what is live. Both read with the rights of the user, and have
// controllers/rebootpolicy decide by the code of the operator. write.go has the forms of the result.
//
// It writes nothing to a cluster, and shows no value of a ConfigMap or Secret. What could not be read is named, and is never
// "nothing restarts".
package forecast
