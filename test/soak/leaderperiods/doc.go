// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderperiods proves from what replicas wrote down that at no instant two of them led, or
// reconciled: every replica notes when it begins and ends to lead, and to reconcile an object. The
// proof holds where all of them have one clock, so on one machine.
//
// It is pure: it reads what is given, and judges it. It never asks a Lease, since what counts is what
// was done, and not who was entitled to it.
package leaderperiods
