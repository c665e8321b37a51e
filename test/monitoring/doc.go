// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests what config/prometheus ships with the libraries that read it: alerts by
// Prometheus' engine, expressions of the dashboard and of the documentation by its parser, and monitors by
// the types of prometheus-operator.
//
// It is a module of its own: nothing else needs Prometheus.
//
// Ring 3: an alert that does not fire breaks no workload.
package monitoring
