// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argorollouts reads the Rollouts of Argo Rollouts where the API server serves them: what of them is read
// (types.go), and an informer that exists only while something asks for Rollouts and there is such a kind (watch.go).
//
// The package never writes a Rollout, and imports nothing of that project.
package argorollouts
