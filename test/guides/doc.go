// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guides does what guides of docs/guides say, from the first line to the last, and compares what the commands print
// with what the guide shows. With -update it writes what they print into the guide.
//
// In a block of console, what follows "$ " is a command, with the lines of its heredoc and those after a backslash; what
// follows it is its output. A command that reads is repeated until it prints that. A comment such as
//
//	<!-- test: refuse 192.0.2.10:5432 -->
//
// says what happens outside the cluster at that point: listen, refuse and accept with an address; unready
// and image-pull with a namespace, whose pods that are made from then on have that fault, until mend.
package guides
