// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package common holds what the API groups of Fairlead share: names of annotations and labels, and types that mean the
// same in every kind. It imports nothing of ours, and its methods only read their own values.
//
// +kubebuilder:object:generate=true
package common
