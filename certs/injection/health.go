// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// presence is the state of the bundle in a target.
type presence int

const (
	unknown presence = iota // it was never read
	present
	missing
)

// health records the last observed presence of the bundle in each target, and the cause if it was not present.
type health struct {
	gauge   *prometheus.GaugeVec
	mu      sync.Mutex
	states  map[target]presence
	reasons map[target]error
}

func newHealth(gauge *prometheus.GaugeVec) *health {
	return &health{gauge: gauge, states: map[target]presence{}, reasons: map[target]error{}}
}

// errBeingPutBack is reported until the outcome of writing the bundle is known.
var errBeingPutBack = errors.New("its CA bundle is missing, and is being put back")

// set records what was read.
func (h *health) set(t target, has bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gauge := h.gauge.WithLabelValues(t.kind.name, t.name)
	switch {
	case has:
		gauge.Set(1)
		h.states[t] = present
		delete(h.reasons, t)
	case h.states[t] != missing:
		gauge.Set(0)
		h.states[t], h.reasons[t] = missing, errBeingPutBack
	}
}

// recordResult records the outcome of an attempt. An error is ignored for a target that had the bundle when it was last
// read, since perhaps only the API server was unavailable; unless the operator may no longer read it.
func (h *health) recordResult(t target, err error) {
	if err == nil {
		h.set(t, true)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.states[t] != present || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		h.reasons[t] = err
	}
}

// Missing returns nil where every target had the bundle when it was last read. The error names each that did not, or was
// never read, and why. It sends no request.
func (i *Injector) Missing() error {
	i.health.mu.Lock()
	defer i.health.mu.Unlock()
	var errs []error
	for _, t := range i.targets {
		if reason := i.health.reasons[t]; reason != nil {
			errs = append(errs, reason)
		}
	}
	return errors.Join(errs...)
}
