// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// metrics collects from a table with one row for each policy, which is dropped with it. The values of labels are
// bounded by specs and by the constants of this package; none names a source.
type metrics struct {
	now func() time.Time

	mu   sync.Mutex
	rows map[types.NamespacedName]*row

	restarts, duration, pending, held, state, sources *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

// row has the metrics of one policy.
type row struct {
	restarts map[ending]float64
	duration controller.Histogram
	// waits counts the targets that wait by reason, and held sums up how long targets have waited for each.
	waits  map[string]int
	held   map[string]float64
	since  time.Time
	states map[string]autorebootv1.TriggerState
	// sources is how many ConfigMaps and Secrets are observed.
	sources int
}

// ending has the labels of a restart that has ended.
type ending struct{ kind, trigger, result string }

func newMetrics(now func() time.Time) *metrics {
	policy := []string{"namespace", "policy"}
	with := func(more ...string) []string { return append(policy[:2:2], more...) }
	return &metrics{
		now: now, rows: map[types.NamespacedName]*row{},
		restarts: prometheus.NewDesc("fairlead_rebootpolicy_restarts_total",
			"Restarts that have ended, by the type of the first trigger that asked for them.", with("target_kind", "trigger_type", "result"), nil),
		duration: prometheus.NewDesc("fairlead_rebootpolicy_restart_duration_seconds",
			"Time from the decision to restart until the end of the verification.", policy, nil),
		pending: prometheus.NewDesc("fairlead_rebootpolicy_pending",
			"Targets whose restart waits, by what it waits for.", with("reason"), nil),
		held: prometheus.NewDesc("fairlead_rebootpolicy_held_seconds_total",
			"Seconds that restarts have spent waiting, by reason.", with("reason"), nil),
		state: prometheus.NewDesc("fairlead_rebootpolicy_trigger_state",
			"The state that a trigger is in.", with("trigger", "state"), nil),
		sources: prometheus.NewDesc("fairlead_rebootpolicy_source_objects",
			"ConfigMaps and Secrets that are looked at.", policy, nil),
	}
}

// row returns the row of a policy. The lock is held.
func (m *metrics) row(key types.NamespacedName) *row {
	r := m.rows[key]
	if r == nil {
		r = &row{restarts: map[ending]float64{}, held: map[string]float64{}}
		m.rows[key] = r
	}
	return r
}

// record updates the row of a policy from its status.
func (m *metrics) record(key types.NamespacedName, status *autorebootv1.RebootPolicyStatus, sources int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.row(key)
	r.accrue(m.now())
	r.waits = map[string]int{}
	for i := range status.Targets {
		if p := status.Targets[i].Pending; p != nil && p.Reason != "" {
			r.waits[p.Reason]++
		}
	}
	r.states = map[string]autorebootv1.TriggerState{}
	for i := range status.Triggers {
		r.states[status.Triggers[i].Name] = status.Triggers[i].State
	}
	r.sources = sources
}

// accrue adds the time since the last call to what is waited for.
func (r *row) accrue(now time.Time) {
	if !r.since.IsZero() {
		for reason, n := range r.waits {
			r.held[reason] += float64(n) * max(now.Sub(r.since).Seconds(), 0)
		}
	}
	r.since = now
}

// ended counts a restart.
func (m *metrics) ended(policy *autorebootv1.RebootPolicy, record *autorebootv1.RestartRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.row(types.NamespacedName{Namespace: policy.Namespace, Name: policy.Name})
	r.restarts[ending{string(record.Target.Kind), triggerType(policy, record.Triggers), string(record.Result)}]++
	if record.Result != autorebootv1.ResultSuperseded && record.StartedTime != nil && record.CompletedTime != nil {
		r.duration.Observe(record.CompletedTime.Sub(record.StartedTime.Time).Seconds())
	}
}

// triggerType returns the type of the first trigger, Unknown if the spec does not have it any more.
func triggerType(policy *autorebootv1.RebootPolicy, triggers []string) string {
	if len(triggers) > 0 && triggers[0] == autorebootv1.RestartNowTrigger {
		return autorebootv1.RestartNowTrigger
	}
	for i := range policy.Spec.Triggers {
		if t := &policy.Spec.Triggers[i]; len(triggers) > 0 && t.Name == triggers[0] {
			return string(t.Type)
		}
	}
	return "Unknown"
}

// drop removes a policy.
func (m *metrics) drop(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, key)
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.restarts, m.duration, m.pending, m.held, m.state, m.sources} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) { m.samples().Send(out) }

func (m *metrics) samples() *controller.Samples {
	all := &controller.Samples{}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for key, r := range m.rows {
		r.accrue(now)
		add := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			all.Add(desc, kind, value, append([]string{key.Namespace, key.Name}, labels...)...)
		}
		for e, n := range r.restarts {
			add(m.restarts, prometheus.CounterValue, n, e.kind, e.trigger, e.result)
		}
		all.AddHistogram(m.duration, &r.duration, key.Namespace, key.Name)
		for reason, n := range r.waits {
			add(m.pending, prometheus.GaugeValue, float64(n), reason)
		}
		for reason, seconds := range r.held {
			add(m.held, prometheus.CounterValue, seconds, reason)
		}
		for trigger, state := range r.states {
			add(m.state, prometheus.GaugeValue, 1, trigger, string(state))
		}
		add(m.sources, prometheus.GaugeValue, float64(r.sources))
	}
	return all
}
