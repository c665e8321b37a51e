// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// health is whether each target had the bundle when it was last read, and if not, why.
type health struct {
	present *prometheus.GaugeVec
	mu      sync.Mutex
	missing map[target]error
}

func newHealth(present *prometheus.GaugeVec) *health {
	return &health{present: present, missing: map[target]error{}}
}

// errBeingPutBack is reported until the outcome of writing the bundle is known.
var errBeingPutBack = errors.New("its CA bundle is missing, and is being put back")

func (h *health) set(t target, present bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gauge := h.present.WithLabelValues(t.kind.name, t.name)
	switch _, known := h.missing[t]; {
	case present:
		gauge.Set(1)
		delete(h.missing, t)
	case !known:
		gauge.Set(0)
		h.missing[t] = errBeingPutBack
	}
}

// recordResult records the outcome of an attempt. An error is ignored for a target that had the bundle when
// it was last read: perhaps only the API server was unavailable.
func (h *health) recordResult(t target, err error) {
	if err == nil {
		h.set(t, true)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.missing[t]; known {
		h.missing[t] = err
	}
}

// Missing returns nil where every target had the bundle when it was last read. The error names each that did
// not, and why. It sends no request.
func (i *Injector) Missing() error {
	i.health.mu.Lock()
	defer i.health.mu.Unlock()
	var errs []error
	for _, t := range i.targets {
		if err, missing := i.health.missing[t]; missing {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
