// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission turns pure functions over one kind into admission webhooks: a defaulter into a
// mutating one, a validator into a validating one.
//
// It never writes anywhere but into its answer, never removes or rewrites what a user wrote, and
// holds no rule of any kind itself. Handlers are made without a server, so that they can be tested
// and measured alone.
package admission
