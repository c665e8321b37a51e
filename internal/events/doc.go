// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events writes Events within bounds: a user who can have an object change, or a webhook fail, could
// otherwise fill etcd with them.
//
// A Recorder (recorder.go) is for code that may not wait: webhooks, and decoders of what an informer reads.
// For one reason on one object, all replicas together write one Event within a window of time: its name
// follows from both, so that the API server refuses the second. Record never blocks, the queue is bounded,
// and nothing is retried: what is dropped is in the log and the metrics.
//
// A Broadcaster (broadcaster.go) is for controllers. It is client-go's, with repeats that become series also
// where the object changes in between, and with bounds (sink.go) for each object, each namespace and
// overall.
package events
