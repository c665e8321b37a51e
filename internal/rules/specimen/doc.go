// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specimen makes objects of a kind for tests: from good ones and the kind's own schema, changed
// at a few places, on both sides of every limit. What it makes is decided by bytes, so that a fuzzer can
// steer it and a counted run can draw it.
//
// It judges nothing, and no program uses it.
package specimen
