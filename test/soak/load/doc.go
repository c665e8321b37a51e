// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load sends what users of Fairlead's kinds send, through the real API server: objects are
// made, changed, applied, read, listed and deleted at both versions, tried by dry runs, and objects
// that must be refused are sent too. Every answer is looked at: a refusal with the right words is
// success, and anything else than what was wanted is not.
//
// Requests are sent once. They are not retried: what a client that retries would hide is what is
// counted here. Objects name addresses of 192.0.2.0/24 without health checks, workloads that do not
// exist, or are suspended, so that nothing leaves the cluster because of them.
package load
