// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package common holds what the API groups of Fairlead share: the names of annotations and
// labels, and the few types that mean the same in every kind. It imports nothing of ours and
// never carries behavior beyond reading its own values.
//
// +kubebuilder:object:generate=true
package common
