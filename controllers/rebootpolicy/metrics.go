// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// metrics have a row for each policy. The values of labels are bounded by specs and by the constants of this package;
// none names a source.
type metrics struct {
	controller.Table[row]
	now func() time.Time

	restarts, duration, pending, held, state, sources *prometheus.Desc
}

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
	policy := []string{"namespace", "name"}
	with := func(more ...string) []string { return append(policy[:2:2], more...) }
	m := &metrics{
		now: now,
		restarts: prometheus.NewDesc("fairlead_rebootpolicy_restarts_total",
			"Restarts that have ended, by the type of the first trigger that asked for them.", with("target_kind", "trigger_type", "result"), nil),
		duration: prometheus.NewDesc("fairlead_rebootpolicy_restart_duration_seconds",
			"Time from the decision to restart until the end of the verification.", policy, nil),
		pending: prometheus.NewDesc("fairlead_rebootpolicy_waiting",
			"Targets whose restart waits, by what it waits for.", with("reason"), nil),
		held: prometheus.NewDesc("fairlead_rebootpolicy_waiting_seconds_total",
			"Seconds that restarts have spent waiting, by reason.", with("reason"), nil),
		state: prometheus.NewDesc("fairlead_rebootpolicy_trigger_state",
			"The state that a trigger is in.", with("trigger", "state"), nil),
		sources: prometheus.NewDesc("fairlead_rebootpolicy_source_objects",
			"ConfigMaps, Secrets and SecretProviderClasses that are looked at.", policy, nil),
	}
	m.Descs, m.Sample = []*prometheus.Desc{m.restarts, m.duration, m.pending, m.held, m.state, m.sources}, m.sample
	m.New = func() *row { return &row{restarts: map[ending]float64{}, held: map[string]float64{}} }
	return m
}

// record updates the row of a policy from its status.
func (m *metrics) record(key types.NamespacedName, status *autorebootv1.RebootPolicyStatus, sources int) {
	m.Update(key, func(r *row) {
		r.accrue(m.now())
		r.waits, r.states, r.sources = map[string]int{}, map[string]autorebootv1.TriggerState{}, sources
		for i := range status.Targets {
			if p := status.Targets[i].Pending; p != nil && p.Reason != "" {
				r.waits[p.Reason]++
			}
		}
		for i := range status.Triggers {
			r.states[status.Triggers[i].Name] = status.Triggers[i].State
		}
	})
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
	m.Update(client.ObjectKeyFromObject(policy), func(r *row) {
		r.restarts[ending{string(record.Target.Kind), triggerType(policy, record.Triggers), record.Result}]++
		if record.Result != autorebootv1.ResultSuperseded && record.StartTime != nil && record.CompletionTime != nil {
			r.duration.Observe(record.CompletionTime.Sub(record.StartTime.Time).Seconds())
		}
	})
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

func (m *metrics) sample(of types.NamespacedName, r *row, to *controller.Samples) {
	r.accrue(m.now())
	add := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to.Add(desc, kind, value, append([]string{of.Namespace, of.Name}, labels...)...)
	}
	for e, n := range r.restarts {
		add(m.restarts, prometheus.CounterValue, n, e.kind, e.trigger, e.result)
	}
	to.AddHistogram(m.duration, &r.duration, of.Namespace, of.Name)
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
