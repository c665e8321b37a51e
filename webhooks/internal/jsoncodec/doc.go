// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsoncodec reads, writes and compares API objects as JSON, faster than a decoder for any JSON
// can: it works out once what the JSON of a type looks like, and reads only what looks just so.
//
// Whatever does not, it leaves to its caller and to a decoder that can say what is wrong. It never
// checks that something is JSON; what it reads must be known to be.
package jsoncodec
