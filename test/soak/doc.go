// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak is `make soak`: three replicas of the operator answer admission and conversion for a
// real API server under load, while certificates change, replicas come, go, are killed or cut off,
// and the control plane restarts. Each scenario is a row: what was sent, what failed, how long answers
// took, and what was proven. From the replicas' own record it is proven besides that no two of them
// reconciled at one instant. One row is about what the leader does: ChaosPods and RebootPolicies disrupt
// the same workloads while one leader after another is killed, and package disruptions counts.
//
// The Service in front of the replicas is a balancer on loopback that asks for readiness as a kubelet
// does, and each replica is reached, and reaches the API server, through a link that can be cut. No
// row retries a request, leaves one out, or chooses a quiet moment for what it does.
//
// Where a replica is lost with the calls that it has, these fail, and those that are sent to it before
// the Service knows: no API server sends a call to a webhook twice. They are counted as failed like all
// others, and each must be explained by a loss that the link to that replica saw while the request was
// under way. One that is not makes its row unsound, as any failure does in every other row.
//
// Ring 3, as its `make soak` is: a short run of each scenario.
package soak
