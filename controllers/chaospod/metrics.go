// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// metrics collects from a table with one row for each ChaosPod, which is dropped with it. The values of labels are
// bounded by the constants of this package.
type metrics struct {
	mu   sync.Mutex
	rows map[types.NamespacedName]*row

	kills, runs, recovery, held, active *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

// row has the metrics of one ChaosPod.
type row struct {
	kills    map[kill]float64
	runs     map[chaosv1.RunOutcome]float64
	recovery controller.Histogram
	held     map[string]float64
	active   bool
}

// kill has the labels of a kill.
type kill struct{ action, outcome string }

func newMetrics() *metrics {
	of := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, more...), nil)
	}
	return &metrics{
		rows:     map[types.NamespacedName]*row{},
		kills:    of("fairlead_chaospod_kills_total", "Kills that were requested, by result.", "action", "outcome"),
		runs:     of("fairlead_chaospod_runs_total", "Runs that have ended, by their verdict.", "outcome"),
		recovery: of("fairlead_chaospod_recovery_seconds", "Time from the last kill of a run until its workloads were back."),
		held:     of("fairlead_chaospod_held_total", "How often a run that was due was held, by reason.", "reason"),
		active:   of("fairlead_chaospod_active", "Whether a run is under way, its verification included."),
	}
}

// row returns the row of a ChaosPod. The lock is held.
func (m *metrics) row(key types.NamespacedName) *row {
	r := m.rows[key]
	if r == nil {
		r = &row{kills: map[kill]float64{}, runs: map[chaosv1.RunOutcome]float64{}, held: map[string]float64{}}
		m.rows[key] = r
	}
	return r
}

func (m *metrics) record(key types.NamespacedName, status *chaosv1.ChaosPodStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.row(key).active = status.CurrentRun != nil
}

// countKill counts the outcome of a kill.
func (m *metrics) countKill(key types.NamespacedName, result *chaos.Result) {
	if v := result.Action.Verb; v != chaos.Evict && v != chaos.Delete {
		return
	}
	outcome := string(result.Outcome)
	if result.Action.DryRun && result.Outcome == chaos.Done {
		outcome = "DryRun"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.row(key).kills[kill{string(result.Action.Verb), outcome}]++
}

// countMessage counts a run that has ended, and a hold.
func (m *metrics) countMessage(of *chaosv1.ChaosPod, n *chaos.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.row(types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
	if held := meta.FindStatusCondition(of.Status.Conditions, chaosv1.ConditionHeld); held != nil && n.Reason == "ChaosHeld" {
		r.held[held.Reason]++
	}
	if n.Ended == nil {
		return
	}
	r.runs[n.Ended.Outcome]++
	if n.Ended.RecoverySeconds != nil {
		r.recovery.Observe(float64(*n.Ended.RecoverySeconds))
	}
}

func (m *metrics) drop(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, key)
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.kills, m.runs, m.recovery, m.held, m.active} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) { m.samples().Send(out) }

func (m *metrics) samples() *controller.Samples {
	all := &controller.Samples{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.rows {
		add := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			all.Add(desc, kind, value, append([]string{key.Namespace, key.Name}, labels...)...)
		}
		for k, n := range r.kills {
			add(m.kills, prometheus.CounterValue, n, k.action, k.outcome)
		}
		for outcome, n := range r.runs {
			add(m.runs, prometheus.CounterValue, n, string(outcome))
		}
		all.AddHistogram(m.recovery, &r.recovery, key.Namespace, key.Name)
		for reason, n := range r.held {
			add(m.held, prometheus.CounterValue, n, reason)
		}
		active := 0.0
		if r.active {
			active = 1
		}
		add(m.active, prometheus.GaugeValue, active)
	}
	return all
}
