// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsoncodec reads, writes and compares API objects as JSON, faster than a decoder for any JSON can: it
// determines the JSON form of a type once, and reads only JSON of that form.
//
// It leaves any other JSON to its caller, whose decoder can say what is wrong. It never checks that its input is JSON.
package jsoncodec
