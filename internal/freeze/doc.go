// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeze holds the blackouts of the whole cluster: those of the operator's configuration, and
// those of one ConfigMap that it follows, so that a freeze can be declared without a rollout of the
// operator.
//
// It fails closed. While the ConfigMap cannot be read, the last blackouts that were read apply; where it was never
// read, or the watch has shown a change since, nothing may be disrupted. A freeze ends by a ConfigMap that was read, or
// by its deletion: as the watch shows it, or as the API server says it for two minutes in which no watch shows the
// ConfigMap. One read that does not find it lifts nothing.
package freeze
