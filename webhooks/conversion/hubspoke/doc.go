// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hubspoke converts one kind between its hub and one spoke version without losing
// anything, whatever the object holds.
//
// A kind provides two plain mappings, Up and Down, and two overlays that apply an edit of one view to the saved
// form of the other (pair.go). This package adds what every kind needs:
//
//   - The restore annotation (restore.go). When the target version cannot express everything of the source,
//     the source's form is saved on the target's view; when the view is converted back, the saved form is
//     restored, with the fields that were edited in between. When nothing would be lost there is no
//     annotation, so that GitOps tools see no difference (aws/karpenter-provider-aws#6867).
//   - Totality (direction.go, tree.go). Content that is unknown or of the wrong type is saved and restored
//     rather than refused: one object that does not convert makes every LIST of its version fail
//     (open-telemetry/opentelemetry-operator#4288).
//   - Unions (union.go). Server-side apply converts objects of which it has taken parts away, and leaves null for an
//     object whose members are all gone.
//   - The status (status.go). It is stored in the status of the other version, where the API server protects
//     it, and never in an annotation.
//   - A bound. Annotations of an object are limited to 256 KiB together, and a converted object above that can
//     no longer be read. An annotation that would not fit only says so, and admission refuses such objects.
//   - A fast conversion of ordinary objects with the same result (fast.go, envelope.go).
//
// It never refuses content, and uses no client, no clock and no state. Of metadata only annotations change,
// since the API server discards any other change (k8s.io/apiextensions-apiserver,
// pkg/apiserver/conversion/webhook_converter.go, restoreObjectMeta). The content of an annotation is user data:
// admission applies all rules to the converted object.
package hubspoke
