// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reloader runs the end-to-end suite of stakater/Reloader against Fairlead: `make test-reloader RELOADER=<checkout>`.
// Nothing of Reloader is part of this repository, and nothing in the checkout is changed.
//
//   - run.go starts a control plane with simulated nodes, Argo Rollouts and one process of the operator, which has RebootPolicies
//     alone, and runs the suites one after the other.
//   - build.go builds the suites with the modules of the checkout, outside of it.
//   - helm.go is the program helm that the suites find on their PATH. It runs Helm with the same arguments, so that the chart of
//     Reloader is installed. None of its code runs: its pod is one of a simulated node. From that installation `fairlead migrate
//     reloader` writes the ClusterRebootPolicy that takes its place.
//   - inputs.go has the flags of both programs, this one and that of package load.
//   - report.go reads the reports of Ginkgo, and writes the table.
//
// It is in no ring: it takes a checkout, and modules that not every proxy has.
package reloader
