// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice publishes each ExternalService as a Service of its name and the
// EndpointSlices behind it.
//
// What should stand in the cluster is computed by pure functions (desired.go), then applied by
// server-side apply under one field owner, and only where it differs from what stands there. What
// others have put on its Service, and apply would leave there, is patched away first. The
// package never touches a Service or EndpointSlice that is not its own, and writes nothing while
// nothing has changed. It publishes addresses; DNS names and health checks are not acted on, and
// the conditions say so.
package externalservice
