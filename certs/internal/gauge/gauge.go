// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gauge registers gauges so that two owners in one process may share them. It keeps no
// registry of its own.
package gauge

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// New makes a gauge and registers it. Where the registerer has a gauge of that description
// already, that one is answered; a nil registerer registers nothing.
func New(registerer prometheus.Registerer, name, help string, labels ...string) (*prometheus.GaugeVec, error) {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	if registerer == nil {
		return vec, nil
	}
	err := registerer.Register(vec)
	if err == nil {
		return vec, nil
	}
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*prometheus.GaugeVec); ok {
			return existing, nil
		}
	}
	return nil, fmt.Errorf("register metric %s: %w", name, err)
}
