// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package histories plays generated histories against replicas of the operator that reach the API server through a
// faulty proxy, and checks the laws of a decider on what watches of the API server recorded:
//
//   - A fact that could not be read takes nothing away and starts nothing.
//   - A name in a spec is only a name: an edit that leaves address and port as they are takes no address out.
//   - A new process, at any time, ends where the previous one would have.
//   - A refusal of one write changes no other, and the end after it is that without it.
//   - What is switched on and off without a change between does nothing.
//   - A change is owed exactly once: no restart without one, and none is forgotten.
//   - Within a freeze nothing is restarted and no pod dies.
//   - Every wait ends: with the world at rest, the operator is at rest, and writes nothing.
//
// A history is a list of moves: what a user edits, what fails outside, what the path to the API server does to
// requests, what admission refuses, and which replica is killed. rapid draws it from a seed and makes a failing one
// shorter. One history is played in a run of the tests, and more of them at night: FAIRLEAD_TEST_LONG.
//
// Ring 2 for one history, which meets combinations that no test lists.
package histories
