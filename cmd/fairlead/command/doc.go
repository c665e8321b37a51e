// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of fairlead, for its own main and for a main that runs the
// operator with another way to the outside.
//
// manager.go runs the operator; package operator has what runs in that process, and in which order.
//
// It parses, assembles and words errors. It never ends the process, except on a second signal.
package command
