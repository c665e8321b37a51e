// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule reads cron expressions in a time zone. It has no clock of its own: every
// question about time carries the moment it is asked for.
package schedule
