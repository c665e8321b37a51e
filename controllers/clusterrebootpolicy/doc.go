// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterrebootpolicy makes the RebootPolicies that ClusterRebootPolicies describe, and keeps them in step with their
// templates. It restarts nothing itself.
//
//   - controller.go constructs the controller and its watches.
//   - reconcile.go has the steps of a reconcile: validate, find the namespaces, write, record.
//   - namespaces.go finds the namespaces that have a workload for a policy.
//   - write.go makes, changes and deletes policies. revert.go reverts what another writer has changed.
//   - record.go writes the status, and then events.
//
// The API server is the only state: which policies an object has made is known by their owner, or by label and annotation where
// that does not exist any more.
package clusterrebootpolicy
