// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promquery has a Prometheus server evaluate the queries of gates, by its HTTP API.
//
// queries.go has what their results mean for a gate; package polling has when which are evaluated. server.go sends one to the server.
package promquery
