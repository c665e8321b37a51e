// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoints has the endpoints of an ExternalService with their addresses: those of the spec, and those that its
// names have, each with the decision of the egress policy and its health.
//
// endpoint.go returns them, and ports.go the ports of their EndpointSlices. names.go has the names to look up, and what
// each begins with; previous.go has what an earlier process has left in slices and status. message.go says in words what
// is left out of a name, and why it does not resolve.
//
// It looks up, checks and writes nothing: lookups, health, slices and status are arguments.
package endpoints
