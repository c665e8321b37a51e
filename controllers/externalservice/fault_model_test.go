// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// Over generated schedules of requests, new processes, writes that fail, clocks that jump and real
// failures: a fault has an effect only while it is stored, asked for, within its time and nothing
// hinders it; no request begins twice; and none lasts longer than it asked for, as long as no clock
// jumps.
func TestNoScheduleKeepsAFaultAlive(t *testing.T) {
	began := 0
	for seed := range uint64(5000) {
		m := newFaultModel(t, seed)
		for range 60 {
			m.step()
		}
		began += len(m.starts)
		for request, span := range m.lasted {
			asked, err := rules.ParseFault(request)
			if err != nil {
				t.Fatal(err)
			}
			if !m.jumped && span > asked.For+modelStep {
				t.Errorf("seed %d: %q had an effect for %s", seed, request, span)
			}
		}
	}
	if began < 1000 {
		t.Errorf("only %d faults began: the schedules show nothing", began)
	}
}

// modelStep is the longest between two decisions of a model.
const modelStep = 40 * time.Second

// faultModel is one schedule. drill is the process that decides, with what is stored.
type faultModel struct {
	*faultSuite
	*rand.Rand
	seed     uint64
	requests []string
	starts   map[string]bool          // requests that began, and were stored
	lasted   map[string]time.Duration // for how long each had an effect
	effect   bool
	jumped   bool
}

func newFaultModel(t *testing.T, seed uint64) *faultModel {
	m := &faultModel{
		faultSuite: newFaultSuite(t), Rand: rand.New(rand.NewPCG(seed, 1)), seed: seed, requests: []string{"", "BlackHole"},
		starts: map[string]bool{}, lasted: map[string]time.Duration{},
	}
	for range 4 {
		m.requests = append(m.requests, fmt.Sprintf("BlackHole for=%ds at=%s", 10+m.IntN(600), asked.Add(time.Duration(m.IntN(900)-200)*time.Second).Format(time.RFC3339)))
	}
	return m
}

func (m *faultModel) step() {
	switch m.IntN(9) {
	case 0:
		m.requested = m.requests[m.IntN(len(m.requests))]
	case 1:
		m.restarts()
	case 2:
		if m.IntN(3) == 0 {
			m.advance(time.Duration(m.IntN(1200)-600) * time.Second)
			m.jumped = true
		}
	case 3:
		m.outcome = []string{"", "", networkingv1.FaultOutcomeRealFailure, networkingv1.FaultOutcomeBlackout}[m.IntN(4)]
		m.why = m.outcome
	}
	span := time.Duration(m.IntN(int(modelStep/time.Second))) * time.Second
	m.advance(span)
	if m.effect {
		m.lasted[m.stored.Request] += span
	}
	before, stores := m.stored, m.IntN(5) > 0
	f := m.decideOnce(stores)
	m.effect = f.inEffect
	if f.inEffect && (!before.Lasts() || before.Request != m.requested || !m.now.Before(before.Deadline.Time) || m.outcome != "") {
		m.Errorf("seed %d: an effect at %s of %+v, asked for is %q", m.seed, m.now, before, m.requested)
	}
	if f.status.Lasts() && !before.Lasts() && stores {
		if m.starts[f.status.Request] {
			m.Errorf("seed %d: %q began twice", m.seed, f.status.Request)
		}
		m.starts[f.status.Request] = true
	}
}
