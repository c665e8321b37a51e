// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules holds the field checks that the kinds share; each kind's own rules are in a
// package below it. Webhooks, reconcilers and offline tools all call the same functions.
//
// They check what the schema and CEL of a CRD cannot express. An object may have any values: one that the schema refuses
// costs little, and ends no process.
//
// Rules are pure: values in, field errors out. They never read a cluster, a clock or a global.
package rules
