// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package options is the component configuration of the operator: a versioned YAML file, its
// defaults and its rules, and the command line flags that override it.
//
// A file is decoded strictly: an unknown field is an error that names it and its line,
// because a misspelled option that is ignored is noticed too late. Flags that were given override the file.
//
// configuration.go, controllers.go, egress.go and webhook.go have the types with their defaults and rules, load.go
// reads the file, flags.go declares the flags, and validate.go validates the whole.
//
// It never reads anything but the file: no environment, no cluster, and no defaults that depend on the machine.
// cmd/fairlead/operator resolves what depends on where the process runs.
package options
