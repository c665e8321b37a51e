// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handover measures how long it takes from the start of a process until it serves webhooks, has
// its caches and reconciles, and from the end of a leader until the next one reconciles: the shipped
// operator, and a manager of controller-runtime with its defaults beside it, on one real API server,
// one after the other.
//
// Both write a line for each reconcile; all times but that of the webhook server are read from there.
package handover
