// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice is the controller of ExternalServices: it publishes each as a Service of its name and
// the EndpointSlices behind it, keeps the slices to the addresses that are healthy, and reports that in the
// status.
//
// # Steps of a reconcile
//
//  1. reconcile.go has the steps in order, each on its own: the error of one stops no other. finalizer.go has those of an
//     object that is being deleted.
//  2. observe.go reads the world into values, and sets what is looked up and checked. dependants.go reads what a fault
//     would disrupt, and package checksecrets the Secrets that a check names. state.go has what this process keeps
//     between reconciles. The package endpoints returns the addresses, each with the decision of the egress policy and
//     its health, and what an earlier process has left in slices and status.
//  3. The package failover decides, without side effects, which addresses are published, and which of them are ready. The
//     package publication packs them into slices, moving as few as it can, and has the Service that is wanted.
//  4. act.go takes traffic off the addresses that must not have it.
//  5. service.go creates or updates the Service, with the ports that it has, and selector.go removes what Kubernetes made of a
//     selector that others put on it.
//  6. networkpolicy.go has the NetworkPolicy, if the spec has one: it allows an address before a slice has it, and until none
//     has it any more.
//  7. replace, in reconcile.go, makes before it breaks: slices by the names that the ports of the Service get, then these
//     ports, and then what is not wanted any more goes.
//  8. record.go writes the status where a fact has changed, with what the API server refused. status.go and conditions.go
//     make it; events.go has the events of a change, and metrics.go the metrics.
//
// controller.go has the options and watches. Lookups and checks run on their own, in the package resolution and in
// internal/probe, and enqueue the object when their results change.
//
// # Guarantees
//
// What a process has observed must survive it. A new one takes the health of addresses from slices and status,
// and leaves all of it equal to the byte until a fact changes. What is not known takes nothing away: a name that
// was not looked up yet, or has never resolved, and an address that was never checked.
//
// A write that the API server refuses stops no other one, except that nothing is published for an object that lacks the
// finalizer: it would outlive the object. An address that must not take traffic is taken off before
// anything is added, whatever becomes of the Service; one that could take traffic stays until what replaces it is there.
// The condition Ready has the words of the refusal, and what differs from the spec is tried again every 30 seconds.
//
// Every prefix of the writes is safe: what clients reach is never less than what the old spec and the new one have in common.
// What is temporary, such as a fault or a drain, ends before an object lets go of its Service.
//
// While a NetworkPolicy lets pods connect to the addresses of an object alone, no prefix of the writes has an address in a
// slice that it does not allow.
//
// Writes are server-side applies of one field owner. Fields that others have set on our Service, and that apply
// would leave, are removed first. The package never touches a Service or EndpointSlice of another owner, never
// publishes or checks an address that the policy denies, writes nothing while nothing has changed, and puts
// nothing that a nameserver or an endpoint sent into a status, an event or a metric, except for addresses.
package externalservice
