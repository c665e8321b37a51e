// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// metrics have a row for each ChaosPod. The values of labels are bounded by the constants of this package.
type metrics struct {
	controller.Table[row]
	kills, runs, recovery, held, active *prometheus.Desc
}

// row has the metrics of one ChaosPod.
type row struct {
	kills    map[kill]float64
	runs     map[string]float64
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
	m := &metrics{
		kills:    of("fairlead_chaospod_kills_total", "Kills that were requested, by outcome.", "action", "outcome"),
		runs:     of("fairlead_chaospod_runs_total", "Runs that have ended, by their verdict.", "result"),
		recovery: of("fairlead_chaospod_recovery_seconds", "Time from the last kill of a run until its workloads were back."),
		held:     of("fairlead_chaospod_waits_total", "How often a run that was due was held, by reason.", "reason"),
		active:   of("fairlead_chaospod_active", "Whether a run is under way, its verification included."),
	}
	m.Descs, m.Sample = []*prometheus.Desc{m.kills, m.runs, m.recovery, m.held, m.active}, m.sample
	m.New = func() *row {
		return &row{kills: map[kill]float64{}, runs: map[string]float64{}, held: map[string]float64{}}
	}
	return m
}

// countKill counts the outcome of a kill.
func (m *metrics) countKill(key types.NamespacedName, result *chaos.Result) {
	if v := result.Action.Verb; v != chaos.Evict && v != chaos.Delete {
		return
	}
	outcome := string(result.Outcome)
	if result.Action.DryRun && result.Outcome == chaos.Done {
		outcome = chaosv1.ResultDryRun
	}
	m.Update(key, func(r *row) { r.kills[kill{string(result.Action.Verb), outcome}]++ })
}

// countMessage counts a run that has ended, and a hold.
func (m *metrics) countMessage(of *chaosv1.ChaosPod, n *chaos.Message) {
	m.Update(client.ObjectKeyFromObject(of), func(r *row) {
		held := meta.FindStatusCondition(of.Status.Conditions, chaosv1.ConditionWaiting)
		if held != nil && n.Reason == chaosv1.EventChaosWaiting {
			r.held[held.Reason]++
		}
		if n.Ended == nil {
			return
		}
		r.runs[n.Ended.Result]++
		if n.Ended.RecoveryDuration != nil {
			r.recovery.Observe(n.Ended.RecoveryDuration.Or(0).Seconds())
		}
	})
}

func (m *metrics) sample(of types.NamespacedName, r *row, to *controller.Samples) {
	add := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to.Add(desc, kind, value, append([]string{of.Namespace, of.Name}, labels...)...)
	}
	for k, n := range r.kills {
		add(m.kills, prometheus.CounterValue, n, k.action, k.outcome)
	}
	for result, n := range r.runs {
		add(m.runs, prometheus.CounterValue, n, result)
	}
	to.AddHistogram(m.recovery, &r.recovery, of.Namespace, of.Name)
	for reason, n := range r.held {
		add(m.held, prometheus.CounterValue, n, reason)
	}
	active := 0.0
	if r.active {
		active = 1
	}
	add(m.active, prometheus.GaugeValue, active)
}
