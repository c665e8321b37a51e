// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apistatus distinguishes responses of the API server from those of a proxy or a load balancer in front of it.
//
// client-go makes a NotFound of every response 404, also of the page of a proxy that has no backend for a moment.
// Code that takes that for the absence of an object removes what exists. IsAbsent accepts a Status of the API
// server about that very object alone, and Transport turns a 404 of something else into an error that is no
// NotFound.
//
// It cannot tell the API server of another cluster from the right one. Where a watch shows the object, a read that
// says otherwise is an error.
package apistatus
