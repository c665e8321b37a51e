// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Defaults of spans of time.
const (
	defaultMinTTL            common.Duration = "30s"
	defaultMaxTTL            common.Duration = "1h"
	defaultKeepLastFor       common.Duration = "24h"
	defaultInterval          common.Duration = "10s"
	defaultUnhealthyInterval common.Duration = "30s"
	defaultTimeout           common.Duration = "2s"
	defaultFailbackDelay     common.Duration = "5m"
)

// Default sets what is unset, and nothing else; doing it twice changes nothing. It never makes a
// valid object invalid: where a default would contradict what was given, such as a timeout above
// the interval, it gives way to it.
//
// It leaves targetPort alone, which follows port while it is absent, and healthCheck.port, which
// would otherwise name the old port after the only one is renamed. It makes no failover block
// either: one that nobody wrote would outlive the healthCheck it needs, and refuse its removal.
func Default(obj *v1.ExternalService) {
	spec := &obj.Spec
	set(&spec.Suspend, false)
	set(&spec.DeletionPolicy, v1.DeletionDelete)
	block(&spec.Service)
	set(&spec.Service.Type, v1.ServiceClusterIP)
	for i := range spec.Ports {
		set(&spec.Ports[i].Protocol, corev1.ProtocolTCP)
	}

	if defaultEndpoints(spec.Endpoints) {
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

// defaultEndpoints says whether any of them has a DNS name. There may be many, so that the values
// for all of them are made at once.
func defaultEndpoints(endpoints []v1.Endpoint) (named bool) {
	type values struct {
		priority int32
		state    v1.EndpointState
		record   v1.RecordType
	}
	var fresh []values
	for i := range endpoints {
		e := &endpoints[i]
		named = named || e.DNS != nil
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
	return named
}

func defaultResolution(r *v1.Resolution) {
	set(&r.MinTTL, shorter(defaultMinTTL, r.MaxTTL))
	set(&r.MaxTTL, longer(defaultMaxTTL, r.MinTTL))
	set(&r.OnFailure, v1.ResolutionKeepLast)
	set(&r.KeepLastFor, defaultKeepLastFor)
}

func defaultHealthCheck(h *v1.HealthCheck) {
	if h.HTTP != nil {
		set(&h.HTTP.Path, "/")
		scheme := v1.SchemeHTTP
		if h.TLS != nil {
			scheme = v1.SchemeHTTPS
		}
		set(&h.HTTP.Scheme, scheme)
	}
	if h.TLS != nil {
		set(&h.TLS.InsecureSkipVerify, false)
	}
	set(&h.Timeout, shorter(defaultTimeout, h.Interval))
	set(&h.Interval, longer(defaultInterval, h.Timeout))
	set(&h.UnhealthyInterval, defaultUnhealthyInterval)
	set(&h.JitterPercent, 10)
	set(&h.HealthyThreshold, 2)
	set(&h.UnhealthyThreshold, 3)
}

func defaultFailover(f *v1.Failover) {
	set(&f.MinHealthyPercent, 1)
	set(&f.PanicThresholdPercent, 0)
	set(&f.Failback, v1.FailbackAutomatic)
	set(&f.FailbackDelay, defaultFailbackDelay)
}

// set gives the field a value where it has none.
func set[T any](field **T, value T) {
	if *field == nil {
		given := value // which alone has to be kept
		*field = &given
	}
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

// shorter answers the default, or the bound where that is given and shorter. A bound that does
// not parse bounds nothing: the object is refused for it anyway.
func shorter(value common.Duration, bound *common.Duration) common.Duration {
	if span, _ := value.Parse(); bound.Or(span) < span {
		return *bound
	}
	return value
}

// longer answers the default, or the bound where that is given and longer.
func longer(value common.Duration, bound *common.Duration) common.Duration {
	if span, _ := value.Parse(); bound.Or(span) > span {
		return *bound
	}
	return value
}
