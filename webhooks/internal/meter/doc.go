// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meter registers the metrics of the webhook packages. It holds no metric of its own and
// no global registry.
package meter
