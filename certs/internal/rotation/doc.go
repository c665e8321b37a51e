// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotation decides how one root certificate replaces another. table.go holds the phases and the
// transitions between them, decision.go the event that is due in a phase.
//
// A client must trust a root before it is presented a certificate of it, and for as long as it may be
// presented one. So the next root is published, observed in every place that clients read, signs, and its
// predecessor stays trusted until the last certificate of it has expired.
//
// The package is pure: it reads no clock, no Secret and no cluster, and keeps no state.
package rotation
