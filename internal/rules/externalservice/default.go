// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Defaults of spans of time.
const (
	defaultMinTTL            common.Duration = "30s"
	defaultMaxTTL            common.Duration = "1h"
	defaultKeepLastFor       common.Duration = "24h"
	defaultUnhealthyInterval common.Duration = "30s"
	defaultFailbackDelay     common.Duration = "5m"
)

// Default sets whatever is unset, and nothing else; doing it twice changes nothing. It never makes a
// valid object invalid: where a default would contradict what was given, such as a timeout above
// the interval, it gives way to it.
//
// It leaves targetPort alone, which follows port while it is absent. It makes no failover block
// either: one that was not written would outlive the healthCheck it needs, and refuse its removal.
func Default(obj *v1.ExternalService) {
	DefaultMaps(obj)
	for i := range obj.Spec.Ports {
		rules.SetDefault(&obj.Spec.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	defaultEndpoints(obj.Spec.Endpoints)
}

// DefaultMaps is Default without the items of lists. Admission stores these: tools compare a
// list item with what was applied as a whole, so that a default in one shows as drift.
func DefaultMaps(obj *v1.ExternalService) {
	spec := &obj.Spec
	rules.SetDefault(&spec.Suspend, false)
	rules.SetDefault(&spec.DeletionPolicy, v1.DeletionDelete)
	rules.DefaultHistoryLimit(&spec.HistoryLimit)
	block(&spec.Service)
	rules.SetDefault(&spec.Service.Type, v1.ServiceClusterIP)

	if slices.ContainsFunc(spec.Endpoints, func(e v1.Endpoint) bool { return e.DNS != nil }) {
		block(&spec.Resolution)
	}
	if spec.Resolution != nil {
		defaultResolution(spec.Resolution)
	}
	if spec.HealthCheck != nil {
		defaultHealthCheck(spec.HealthCheck)
	}
	if spec.Failover != nil {
		defaultFailover(spec.Failover)
	}
}

// defaultEndpoints fills in all of them. There may be many, so that their values are made at once.
func defaultEndpoints(endpoints []v1.Endpoint) {
	type values struct {
		priority int32
		state    v1.EndpointState
		record   v1.RecordType
	}
	var fresh []values
	for i := range endpoints {
		e := &endpoints[i]
		if e.Priority != nil && e.State != nil && (e.DNS == nil || e.DNS.RecordType != nil) {
			continue
		}
		if len(fresh) == 0 {
			fresh = make([]values, len(endpoints)-i)
		}
		mine := &fresh[0]
		*mine, fresh = values{0, v1.EndpointActive, v1.RecordAddress}, fresh[1:]
		take(&e.Priority, &mine.priority)
		take(&e.State, &mine.state)
		if e.DNS != nil {
			take(&e.DNS.RecordType, &mine.record)
		}
	}
}

func defaultResolution(r *v1.Resolution) {
	rules.SetOrdered(&r.MinTTL, defaultMinTTL, &r.MaxTTL, defaultMaxTTL)
	rules.SetDefault(&r.OnFailure, v1.ResolutionKeepLast)
	rules.SetDefault(&r.KeepLastFor, defaultKeepLastFor)
}

func defaultHealthCheck(h *v1.HealthCheck) {
	rules.DefaultCheck(&h.Check, rules.HealthCheckDefaults)
	rules.SetDefault(&h.UnhealthyInterval, defaultUnhealthyInterval)
	rules.SetDefault(&h.JitterPercent, 10)
}

func defaultFailover(f *v1.Failover) {
	rules.SetDefault(&f.MinHealthyPercent, 1)
	rules.SetDefault(&f.PanicThresholdPercent, 0)
	rules.SetDefault(&f.Failback, v1.FailbackAutomatic)
	rules.SetDefault(&f.FailbackDelay, defaultFailbackDelay)
}

// take gives the field the value where it has none.
func take[T any](field **T, value *T) {
	if *field == nil {
		*field = value
	}
}

// block makes the block exist.
func block[T any](field **T) {
	if *field == nil {
		*field = new(T)
	}
}
