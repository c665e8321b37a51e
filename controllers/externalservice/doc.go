// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice publishes each ExternalService as a Service of its name and the
// EndpointSlices behind it, holds these to what is healthy outside, and says so in the status.
//
// A reconcile goes through the same steps each time: the Service is put in place (service.go); what
// lies outside is looked up, judged by the egress policy and checked (observe.go, examine.go); one
// pure function says which priority is published and which of its addresses are ready (decide.go);
// another says which slices that makes, moving as few addresses as it can (membership.go); the
// slices are written where they differ, then the status where a fact has changed (status.go,
// conditions.go), and events for what lies between the two statuses (events.go). Looking up and
// checking goes on beside that, in controllers/externalservice/resolution and internal/probe, which enqueue the
// object when something changes.
//
// What a process knows must survive it. A new one takes the health of addresses from the slices and
// the status, changes no slice before it has looked up every name itself, and then leaves all of it
// equal to the byte until a fact changes (seed.go).
//
// Writes go by server-side apply under one field owner. What others have put on our Service, and
// apply would leave there, is patched away first. The package never touches a Service or
// EndpointSlice that is not its own, never publishes or checks an address that the policy refuses,
// writes nothing while nothing has changed, and puts nothing that the outside sent into a status, an
// event or a metric, but for addresses.
package externalservice
