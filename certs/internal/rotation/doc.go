// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotation decides how one root certificate follows another: the phases, and what leads
// from one to the next.
//
// A client must trust a root before it meets a certificate of it, and as long as it may meet one.
// Hence a root is published, then seen where clients look for it, then signs, and its predecessor
// is trusted until the last certificate of it has expired.
//
// The package is pure: times and sights come in, events and effects go out. It reads no clock, no
// Secret and no cluster, and remembers nothing.
package rotation
