// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// Suspension is the published state of an object that is suspended or whose stored spec is invalid. Neither bypasses the egress
// policy.
type Suspension struct {
	// IsUnsynced means that the policy cannot decide yet.
	IsUnsynced bool
	// Denied are sentences about the addresses that the policy denies, each once.
	Denied []string
	// Ready has the addresses that stay in slices, and whether each is ready; ReadyCount is how many are.
	Ready      map[endpoints.Key]bool
	ReadyCount int32
	// Fitness has the addresses of slices that must go.
	Fitness Fitness
}

// Suspend returns what stays of the addresses of the slices (held). The recorded ones, of spec and status, are reported for
// as long as they are denied, also after they were removed.
func Suspend(held, recorded []endpoints.Held) Suspension {
	s := Suspension{Ready: map[endpoints.Key]bool{}, Fitness: Fitness{byKey: map[endpoints.Key]bool{}}}
	for i := range held {
		h := &held[i]
		if !s.allows(h) {
			s.Fitness.byKey[h.Key()] = false
			continue
		}
		if s.Ready[h.Key()] = h.IsReady; h.IsReady {
			s.ReadyCount++
		}
	}
	for i := range recorded {
		s.allows(&recorded[i])
	}
	return s
}

// allows reports whether the policy allows an address, and records why not.
func (s *Suspension) allows(h *endpoints.Held) bool {
	switch {
	case h.Verdict.Allowed:
		return true
	case !h.IP.IsValid():
	case h.Verdict.Reason == egress.ReasonUnsynced:
		s.IsUnsynced = true
	default:
		if text := fmt.Sprintf("%s %s (%s)", h.IP, h.Verdict.Detail, h.Verdict.Reason); !slices.Contains(s.Denied, text) {
			s.Denied = append(s.Denied, text)
		}
	}
	return false
}

// WithoutFault returns the decision about an object whose fault must end while nothing of it is looked up or checked: what was
// published before the fault, as far as it is healthy in the status. all are the endpoints as they are known.
func WithoutFault(es *networkingv1.ExternalService, all []endpoints.Endpoint, now time.Time) Decision {
	s := State{Active: es.Status.Fault.Priority}
	in := Input{Now: now, Object: es, Observed: Observation{Endpoints: all, IsSuspect: true}}
	shown := choose(candidatesOf(all), s.criteriaOf(&in))
	return Decision{Actual: shown, Shown: shown}
}
