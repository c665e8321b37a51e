// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package request requests something of the operator once, by an annotation whose value is a new token: a restart, the end of a
// halt, a run, a failback, a fault, another root. It asks the API server first whether the user may, patches nothing but the
// annotation, and waits for the verdict that the operator writes to the status. To drain an endpoint it edits that endpoint of
// the spec, and nothing else.
package request
