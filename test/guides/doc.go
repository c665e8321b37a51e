// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guides does what the pages of the documentation say, from the first line to the last, and compares what the commands
// print with what the page shows. With -update it writes what they print into the page. A page that is added is read as well;
// elsewhere lists the blocks that are not run here, and why.
//
// In a block of console, what follows "$ " is a command, with the lines of its heredoc, those after a backslash, and those of a
// loop; what follows it is its output. A command that reads is repeated until it prints that. Where a block shows no output at
// all, its commands must succeed. A block of YAML is a kustomization that must build, a configuration of the operator that must
// load, a spec that must fit the manifest before it, or objects that the API server must accept; the first line may name a file
// that later commands use. A comment such as
//
//	<!-- test: refuse 192.0.2.10:5432 -->
//
// does at that point what the page tells its reader to do outside of the cluster: listen, refuse and accept with the
// address of a server, resolve with a name and its address. A page has no other hidden steps. The folder of testdata that
// is called like the page has files that it takes to be there, and before.sh, which creates the objects that it takes to be
// there.
//
// Ring 2 for README, the quick start and the commonest jobs, which are what a newcomer does. The other pages are in ring 3.
package guides
