// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules holds the checks of fields that several kinds share. The rules of each kind are in a package below it.
// Webhooks, reconcilers and offline tools call the same functions.
//
// They check what the schema and CEL of a CRD cannot express. They must work for any object, even one that the schema
// refuses: it must neither cause a panic nor take much time.
//
// Rules are pure: values in, field errors out. They never read a cluster, a clock or a global.
package rules
