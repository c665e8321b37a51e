// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod converts ChaosPods between v1, the hub, and v1alpha1.
//
// v1alpha1 knows one pod template, the time of the next stop and that of the last run; v1 adds the
// choice of other targets, and makes explicit what v1alpha1 implies: a stop about every 15 seconds, by
// deletion, for real. The template and the times are copied as bytes: this package
// never interprets a pod.
//
// A v1 object that acts on a workload or a selector has no template, and shows one without
// containers at v1alpha1. Writing that back never makes it a template. Filling it in does, and is
// then refused by the rule against changing the kind of target (internal/rules/chaospod).
package chaospod
