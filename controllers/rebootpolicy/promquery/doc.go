// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promquery asks a Prometheus server, by its HTTP API, whether the queries of gates return anything.
//
// queries.go has which queries are asked when, and what their answers mean for a gate. server.go asks one.
package promquery
