// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Where the spec was stored without defaults, these hold.
const (
	interval          = 10 * time.Second
	unhealthyInterval = 30 * time.Second
	timeout           = 2 * time.Second
)

// checkOf is a health check in the prober's terms. roots are the certificates of caSecretName.
func checkOf(h *networkingv1.HealthCheck, roots []byte) probe.Check {
	every := h.Interval.Or(interval)
	check := probe.Check{
		Interval:           every,
		UnhealthyInterval:  h.UnhealthyInterval.Or(unhealthyInterval),
		Timeout:            h.Timeout.Or(min(timeout, every)),
		JitterPercent:      int(ptr.Deref(h.JitterPercent, 10)),
		HealthyThreshold:   int(ptr.Deref(h.HealthyThreshold, 2)),
		UnhealthyThreshold: int(ptr.Deref(h.UnhealthyThreshold, 3)),
	}
	switch {
	case h.HTTP != nil:
		scheme := networkingv1.SchemeHTTP
		if h.TLS != nil {
			scheme = networkingv1.SchemeHTTPS
		}
		check.Kind = probe.KindHTTP
		check.HTTP = probe.HTTP{
			Path: ptr.Deref(h.HTTP.Path, "/"), Host: h.HTTP.Host,
			HTTPS: ptr.Deref(h.HTTP.Scheme, scheme) == networkingv1.SchemeHTTPS,
		}
		for _, r := range h.HTTP.ExpectedStatuses {
			check.HTTP.Statuses = append(check.HTTP.Statuses, [2]int{int(r.Start), int(r.End)})
		}
	case h.GRPC != nil:
		check.Kind = probe.KindGRPC
		check.GRPC = probe.GRPC{Service: h.GRPC.Service, Authority: h.GRPC.Authority}
	default:
		check.Kind = probe.KindTCP
	}
	if h.TLS != nil {
		check.TLS = &probe.TLS{
			ServerName: h.TLS.ServerName, RootPEM: roots, SkipVerify: ptr.Deref(h.TLS.InsecureSkipVerify, false),
		}
	}
	return check
}

// firstProbeGrace is how long an address that was never checked may hold up a decision: by then the first
// result is there.
func firstProbeGrace(h *networkingv1.HealthCheck) time.Duration {
	every := h.Interval.Or(interval)
	return every + h.Timeout.Or(min(timeout, every))
}

// caSecretOf names the Secret whose certificates the check trusts, if it reads any.
func caSecretOf(h *networkingv1.HealthCheck) string {
	if h == nil || h.TLS == nil || ptr.Deref(h.TLS.InsecureSkipVerify, false) {
		return ""
	}
	return h.TLS.CASecretName
}
