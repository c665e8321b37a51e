// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// The defaults of durations.
const (
	defaultMinTTL            common.Duration = "30s"
	defaultMaxTTL            common.Duration = "1h"
	defaultKeepLastFor       common.Duration = "24h"
	defaultUnhealthyInterval common.Duration = "30s"
	defaultFailbackDelay     common.Duration = "5m"
)

// Default sets every unset field that has a default, and never changes one that is set, except that DNS names get lower
// case. It is idempotent, and makes no valid object invalid. If a default would contradict a given value, such as a
// timeout above the interval, the given value is used for both.
//
// It does not set targetPort, which follows port while it is absent. It does not create failover either. A block that
// the user did not write would outlive the healthCheck that it needs, so that its removal would be refused.
func Default(obj *v1.ExternalService) {
	DefaultMaps(obj)
	block(&obj.Spec.Service)
	for i := range obj.Spec.Ports {
		rules.SetDefault(&obj.Spec.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	defaultEndpoints(obj.Spec.Endpoints)
}

// DefaultMaps is Default without the items of lists. Admission stores its defaults. Tools compare a list item with the
// applied one as a whole, so that a default in it would show as drift.
func DefaultMaps(obj *v1.ExternalService) {
	spec := &obj.Spec
	rules.SetDefault(&spec.Suspend, false)
	rules.SetDefault(&spec.DeletionPolicy, v1.DeletionDelete)
	rules.DefaultHistoryLimit(&spec.HistoryLimit)
	if spec.NetworkPolicy != nil {
		rules.SetDefault(&spec.NetworkPolicy.DryRun, false)
	}

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

// IPFamilyPolicy returns that of a Service. Its default follows ipFamilies, so that it is not stored.
func IPFamilyPolicy(service *v1.ServiceTemplate) corev1.IPFamilyPolicy {
	switch {
	case service.IPFamilyPolicy != nil:
		return *service.IPFamilyPolicy
	case len(service.IPFamilies) == 1:
		return corev1.IPFamilyPolicySingleStack
	}
	return corev1.IPFamilyPolicyPreferDualStack
}

// defaultEndpoints sets the defaults of all endpoints. They share their values, since there may be many endpoints.
func defaultEndpoints(endpoints []v1.Endpoint) {
	type values struct {
		priority int32
		state    v1.EndpointState
		record   v1.RecordType
	}
	var fresh []values
	for i := range endpoints {
		e := &endpoints[i]
		if e.DNS != nil {
			e.DNS.Name = strings.ToLower(e.DNS.Name)
		}
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

// take sets the field to the value if it is nil.
func take[T any](field **T, value *T) {
	if *field == nil {
		*field = value
	}
}

// block creates the block if it is nil.
func block[T any](field **T) {
	if *field == nil {
		*field = new(T)
	}
}
