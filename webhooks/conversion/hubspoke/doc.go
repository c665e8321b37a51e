// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hubspoke converts one kind between its hub and one spoke version without losing
// anything, whatever the object holds.
//
// A kind gives two plain mappings, Up and Down, and two overlays that carry an edit of one view
// onto the saved form of the other. This package adds what every kind needs:
//
//   - The restore annotation. When the target version cannot say all that the source holds, the
//     source's form is saved on the target's view; when the view comes back, the saved form is
//     taken again, and the fields that were edited in between are laid over it. When nothing
//     would be lost there is no annotation, so that nothing fights with GitOps tools over it
//     (aws/karpenter-provider-aws#6867).
//   - Totality. Content that is unknown or of the wrong type is saved and given back rather than
//     refused: one object that does not convert makes every LIST of its version fail
//     (open-telemetry/opentelemetry-operator#4288).
//   - The status. It travels in the status of the other version, where the API server protects it,
//     and never in an annotation.
//   - A bound. Annotations of an object are limited to 256 KiB together, and a converted object
//     above that can no longer be read. Where the annotation does not fit, a note says so, and
//     admission refuses what would make it so.
//
// Conversion is pure: no client, no clock, no state. Only annotations of metadata ever change,
// since the API server throws away any other change (k8s.io/apiextensions-apiserver,
// pkg/apiserver/conversion/webhook_converter.go, restoreObjectMeta). Whatever an annotation
// claims is data of the user's: admission applies the full rules to the converted object.
package hubspoke
