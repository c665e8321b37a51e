// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/metrics"
)

// registerBuildInfo registers the metric that says what this process is.
func registerBuildInfo(registerer prometheus.Registerer, c *options.Configuration, version, commit string) error {
	gauge, err := metrics.Gauge(registerer, "fairlead_build_info",
		"1, with the build of this process, the kinds that it works on, and its part of the layout.", "version", "commit", "kinds", "layout")
	if err != nil {
		return err
	}
	gauge.WithLabelValues(version, commit, strings.Join(slices.Sorted(slices.Values(c.Kinds)), ","), layoutOf(c)).Set(1)
	return nil
}

// layoutOf returns single for a process that serves webhooks and reconciles, and otherwise which of the two it does.
func layoutOf(c *options.Configuration) string {
	switch {
	case !c.Controllers.Enabled:
		return "webhooks"
	case !c.Webhook.Enabled:
		return "controllers"
	}
	return "single"
}

// reduceGoMetrics replaces the collector of controller-runtime, which has all metrics of the Go runtime, by the default one
// of Prometheus. Of the Go runtime's, 47 families count settings of GODEBUG.
func reduceGoMetrics(registerer prometheus.Registerer) error {
	registerer.Unregister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)))
	_, err := metrics.Register(registerer, collectors.NewGoCollector())
	return err
}
