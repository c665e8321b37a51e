// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeze holds the blackouts of the whole cluster: those of the operator's configuration, and those of one
// ConfigMap that it follows. With the ConfigMap, a user declares a freeze without a rollout of the operator.
//
// It fails closed. While the ConfigMap cannot be read, the blackouts that were read last apply. If it was never read,
// or the watch has shown a change since, nothing may be disrupted. A freeze ends when a ConfigMap without it is read,
// or when the ConfigMap is deleted. The watch shows a deletion at once. Without the watch, every read must return
// NotFound for two minutes: a single one lifts nothing.
package freeze
