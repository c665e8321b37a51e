// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load measures Fairlead beside stakater/Reloader under the load of Reloader's own scenarios:
// `make bench-reloader RELOADER=<checkout>`. Nothing of Reloader is part of this repository, and nothing in the checkout is changed.
//
// Each measurement has a control plane with simulated nodes of its own, on which one of the two runs as one process: Reloader with
// --auto-reload-all=false, or the operator with RebootPolicies alone and the policy that `fairlead migrate reloader` writes.
//
//   - scenario.go has the sources, the workloads and the changes of each scenario.
//   - driver.go makes them on a control plane. With the same seed, both sides get the same changes.
//   - record.go watches what becomes of the workloads: restarts, and pods that are older than the content of a source.
//   - side.go starts the two programs.
//   - run.go measures, and report.go compares.
//
// Three scenarios are left out. S6 restarts the program itself, and a process that is new has used nothing. S11 is the load of S1 under
// another strategy of Reloader, and Fairlead has one strategy. S12 waits for the end of pauses, whose length the workloads choose.
//
// It is in no ring: it takes a checkout, and modules that not every proxy has. Reloader listens on port 9090 and nowhere else.
package load
