// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// metrics are collected from a table with a row for each object.
type metrics struct {
	mu   sync.Mutex
	rows map[types.NamespacedName]*objectRow
	// denials counts by reason. There are few reasons.
	denials map[egress.Reason]float64
	// faultEvents counts by the reason of the event. There are three reasons.
	faultEvents map[string]float64

	endpointHealthy, addresses, activePriority, resolveAge *prometheus.Desc
	failovers, denied, fault, faults                       *prometheus.Desc

	now        func() time.Time
	resolution Resolution
}

var _ prometheus.Collector = (*metrics)(nil)

// objectRow is the metrics of one object.
type objectRow struct {
	endpoints                                  []endpointRow
	healthy, unhealthy, unknown, deny, leftOut int
	published                                  int
	priority                                   *int32
	failovers                                  float64
	fault                                      networkingv1.FaultType // that lasts, or empty
}

// endpointRow is the metrics of one endpoint.
type endpointRow struct {
	name    string
	checked bool
	healthy float64              // share, from 0 to 1
	dns     networkingv1.DNSName // zero for static addresses
	denied  []deniedAddress
}

// deniedAddress is kept so that it is counted once.
type deniedAddress struct {
	address string
	reason  egress.Reason
}

func newMetrics(now func() time.Time, resolution Resolution) *metrics {
	object := []string{"namespace", "name"}
	endpoint := []string{"namespace", "name", "endpoint"}
	return &metrics{
		rows: map[types.NamespacedName]*objectRow{}, denials: map[egress.Reason]float64{}, faultEvents: map[string]float64{},
		now: now, resolution: resolution,
		endpointHealthy: prometheus.NewDesc("fairlead_externalservice_endpoint_healthy",
			"Share of the addresses of an endpoint that are healthy, from 0 to 1.", endpoint, nil),
		addresses: prometheus.NewDesc("fairlead_externalservice_addresses",
			"Addresses by state.", []string{"namespace", "name", "state"}, nil),
		activePriority: prometheus.NewDesc("fairlead_externalservice_active_priority",
			"The priority that is published.", object, nil),
		resolveAge: prometheus.NewDesc("fairlead_externalservice_resolve_age_seconds",
			"Time since the name of an endpoint last resolved.", endpoint, nil),
		failovers: prometheus.NewDesc("fairlead_externalservice_failovers_total",
			"Failovers to a less preferred priority: endpoints with a higher number as priority.", object, nil),
		fault: prometheus.NewDesc("fairlead_externalservice_fault_injected",
			"1 while a fault is injected on purpose, by its type.", []string{"namespace", "name", "type"}, nil),
		faults: prometheus.NewDesc("fairlead_externalservice_faults_total",
			"Faults that began (FaultInjected), ended (FaultEnded) or were refused (FaultRefused).", []string{"event"}, nil),
		denied: prometheus.NewDesc("fairlead_externalservice_denied_addresses_total",
			"Addresses that the egress policy refused, each counted when it appears.", []string{"reason"}, nil),
	}
}

// record stores what was observed of an object and decided about it.
func (m *metrics) record(
	key types.NamespacedName, o *failover.Observation, d *failover.Choice, checked bool, injected *networkingv1.FaultStatus,
) {
	next := &objectRow{endpoints: make([]endpointRow, 0, len(o.Endpoints)), published: d.ReadyCount()}
	if injected.Lasts() {
		next.fault = injected.Type
	}
	if d.Active != nil {
		priority := *d.Active
		next.priority = &priority
	}
	for i := range o.Endpoints {
		next.add(&o.Endpoints[i], checked)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.rows[key]
	if before != nil {
		next.failovers = before.failovers
	}
	for i := range next.endpoints {
		for _, d := range next.endpoints[i].denied {
			if !before.has(next.endpoints[i].name, d) {
				m.denials[d.reason]++
			}
		}
	}
	m.rows[key] = next
}

func (r *objectRow) add(s *endpoints.Endpoint, checked bool) {
	e := endpointRow{name: s.Name, checked: checked && !s.IsDrained, dns: ptr.Deref(s.DNS, networkingv1.DNSName{})}
	healthy, counted := 0, 0
	if s.State != nil {
		r.leftOut += s.State.Surplus
	}
	for i := range s.Addresses {
		a := &s.Addresses[i]
		switch {
		case a.DeniedReason != "":
			r.deny++
			if !a.DeniedReason.IsUnknown() { // which is not about the address
				e.denied = append(e.denied, deniedAddress{a.IP.String(), a.DeniedReason})
			}
			continue
		case s.IsDrained:
			continue
		case a.Health.State == networkingv1.AddressHealthy:
			r.healthy++
			healthy++
		case a.Health.State == networkingv1.AddressUnhealthy:
			r.unhealthy++
		default:
			r.unknown++
		}
		counted++
	}
	if counted > 0 {
		e.healthy = float64(healthy) / float64(counted)
	}
	r.endpoints = append(r.endpoints, e)
}

func (r *objectRow) has(endpoint string, d deniedAddress) bool {
	if r == nil {
		return false
	}
	return slices.ContainsFunc(r.endpoints, func(e endpointRow) bool { return e.name == endpoint && slices.Contains(e.denied, d) })
}

// drop removes an object.
func (m *metrics) drop(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, key)
}

func (m *metrics) countFailover(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rows[types.NamespacedName{Namespace: namespace, Name: name}]; r != nil {
		r.failovers++
	}
}

func (m *metrics) countFaultEvent(event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faultEvents[event]++
}

func (m *metrics) resolved(key types.NamespacedName, e *endpointRow) time.Time {
	if e.dns.Name == "" {
		return time.Time{}
	}
	return m.resolution.ResolvedTime(key, resolution.Name{Host: e.dns.Name, Records: ptr.Deref(e.dns.RecordType, "")})
}

// Describe sends what Collect may.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.endpointHealthy, m.addresses, m.activePriority, m.resolveAge, m.failovers, m.denied,
		m.fault, m.faults} {
		out <- desc
	}
}

// Collect sends the table.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	var all []prometheus.Metric
	add := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		if metric, err := prometheus.NewConstMetric(desc, kind, value, labels...); err == nil {
			all = append(all, metric)
		}
	}
	now := m.now()
	m.mu.Lock()
	for key, r := range m.rows {
		for i := range r.endpoints {
			e := &r.endpoints[i]
			if e.checked {
				add(m.endpointHealthy, prometheus.GaugeValue, e.healthy, key.Namespace, key.Name, e.name)
			}
			if resolved := m.resolved(key, e); !resolved.IsZero() {
				add(m.resolveAge, prometheus.GaugeValue, now.Sub(resolved).Seconds(), key.Namespace, key.Name, e.name)
			}
		}
		for state, n := range map[string]int{"Healthy": r.healthy, "Unhealthy": r.unhealthy, "Unknown": r.unknown, "Denied": r.deny,
			"LeftOut": r.leftOut, "Published": r.published} {
			add(m.addresses, prometheus.GaugeValue, float64(n), key.Namespace, key.Name, state)
		}
		if r.priority != nil {
			add(m.activePriority, prometheus.GaugeValue, float64(*r.priority), key.Namespace, key.Name)
		}
		add(m.failovers, prometheus.CounterValue, r.failovers, key.Namespace, key.Name)
		if r.fault != "" {
			add(m.fault, prometheus.GaugeValue, 1, key.Namespace, key.Name, string(r.fault))
		}
	}
	for reason, n := range m.denials {
		add(m.denied, prometheus.CounterValue, n, string(reason))
	}
	for event, n := range m.faultEvents {
		add(m.faults, prometheus.CounterValue, n, event)
	}
	m.mu.Unlock()
	// A reader that is slow must not hold the lock that reconcilers need.
	for _, metric := range all {
		out <- metric
	}
}
