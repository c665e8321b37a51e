// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failover decides which addresses of an ExternalService are published, and which of them are ready.
//
// failover.go has the Input, the State that a process remembers, and the Decision. candidate.go merges the endpoints that
// have the same address, and choice.go chooses the priority whose candidates are published. damping.go holds what flaps or
// was not checked yet. fault.go changes the choice while a fault is injected, and obstacle.go has what keeps one from that.
// outgoing.go keeps what is ready until what replaces it was looked up and checked. fitness.go has which addresses may take
// traffic by a decision, and suspended.go what stays of an object that is suspended or not valid.
//
// # Why is this address published?
//
//   - The egress policy allows it, and its endpoint is not drained.
//   - Its priority is active: the lowest with enough healthy addresses, or the one before where that does not last for
//     failbackDelay yet, where health cannot be trusted, or where what would be better is not known.
//   - It is ready where its check succeeds, where there is no check, or where none of any priority is healthy and
//     panicThresholdPercent says so. One that flaps is held as damping.go says.
//   - Or it is outgoing: it was ready, and what replaces it was not looked up or checked yet.
//
// A fact is known, known not to be, or unknown: an address is Healthy, Unhealthy or Unknown, a lookup has ended or not,
// dependants and blackouts could be read or not. What is unknown takes nothing away, and begins no fault.
//
// Everything is a value: there is no client, no logger and no clock but Input.Now.
package failover
