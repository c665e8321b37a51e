// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argorollouts is what is read of the Rollouts of Argo Rollouts, as a type of our own. Package workloadkinds has their
// informer.
//
// The package never writes a Rollout, and imports nothing of that project.
package argorollouts
