// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probes measures what checking very many addresses costs the operator, and how soon it
// acts: the shipped operator as a process of its own, a real API server, and a listener on loopback
// that replaces every address outside.
//
// There is no peer to compare with, and the figures are of this machine at this moment: everything
// that takes part shares its processors, as does whatever else runs. The operator's own share is
// read from its process. It is never asked to do anything that it would not do in a cluster.
package probes
