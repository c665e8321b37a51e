// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package counter registers counters so that two owners in one process may share them. It keeps
// no registry of its own.
package counter

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// New makes a counter and registers it. Where the registerer has a counter of that description
// already, that one is answered; a nil registerer registers nothing.
func New(registerer prometheus.Registerer, name, help string, labels ...string) (*prometheus.CounterVec, error) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	if registerer == nil {
		return vec, nil
	}
	err := registerer.Register(vec)
	if err == nil {
		return vec, nil
	}
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing, nil
		}
	}
	return nil, fmt.Errorf("register metric %s: %w", name, err)
}
