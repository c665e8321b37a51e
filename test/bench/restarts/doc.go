// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restarts measures what the operator does when very many Secrets change at once: the shipped
// operator as a process of its own, a real API server, real controllers and a real scheduler, and
// KWOK as the kubelets.
//
// Everything that takes part shares the processors of the machine, so a time alone says little: a
// plain client that restarts the same workloads, as many at once and with no other care, is measured
// beside it. What does not depend on the machine are the counts: restarts, calls, and how many ran at
// once. They are read from the API server, not from the operator.
package restarts
