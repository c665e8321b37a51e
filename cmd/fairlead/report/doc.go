// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells of each workload when it last survived a lost pod, an absent dependency and a restart, by the records
// of ChaosPods, ExternalServices and RebootPolicies. write.go and html.go have the forms of it.
//
// It does not read a cluster itself. What no record shows is never a proof: a dry run, a run without victims, a record in the
// future, one of another target, and what could not be read are named as such.
package report
