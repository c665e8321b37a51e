// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config is the component configuration of the operator: a versioned YAML file, its
// defaults and its rules, and the command line flags that override it.
//
// A file is decoded strictly: an unknown field is an error that names it and its line,
// because a misspelled option that is ignored is found out only when it is missed. Flags override
// the file, and only those that were really given.
//
// The package reads the file and nothing else: no environment, no cluster, no defaults that
// depend on the machine. What depends on where the process runs is resolved by cmd/fairlead/operator.
package options
