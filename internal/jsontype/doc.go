// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsontype finds the value of a JSON document that does not fit its Go type, and names it by its path and its JSON
// type. It never repeats a value.
package jsontype
