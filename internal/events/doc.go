// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notices writes Events, within bounds: a user who can have an object change, or a webhook fail,
// could fill etcd with them otherwise.
//
// Notices are for code that may not wait: webhooks, and decoders of what an informer reads. Of one
// matter on one object, all replicas together write one Event within a window of time: its name follows
// from both, so that the API server refuses the second. Giving a notice never blocks, never more than a
// bound of them are held, and none is tried twice: what is lost is in the log and the metrics all the
// same.
//
// A Broadcaster is for controllers. It is client-go's, with repeats that become series also where the
// object changes in between, and with bounds for each object, each namespace and overall.
package events
