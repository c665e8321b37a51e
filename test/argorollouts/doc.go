// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argorollouts has nothing in it: its module has the controller of Argo Rollouts as a tool, which is built by
//
//	go build github.com/argoproj/argo-rollouts/cmd/rollouts-controller
//
// It is a module of its own: Argo Rollouts wants other versions of the Kubernetes libraries than the operator does, and
// clients of many clouds.
package argorollouts
