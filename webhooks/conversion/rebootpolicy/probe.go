// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func probeUp(p *v1alpha1.Probe) *autorebootv1.Probe {
	if p == nil {
		return nil
	}
	out := &autorebootv1.Probe{
		Period:           durationOf(p.PeriodSeconds),
		Timeout:          durationOf(p.TimeoutSeconds),
		FailureThreshold: p.FailureThreshold,
		SuccessThreshold: p.SuccessThreshold,
	}
	if h := p.HTTPGet; h != nil {
		out.HTTPGet = &autorebootv1.HTTPGet{
			Host: h.Host, Port: number(h.Port), Path: h.Path, Scheme: (*autorebootv1.HTTPScheme)(h.Scheme),
		}
		for _, header := range h.HTTPHeaders {
			out.HTTPGet.Headers = append(out.HTTPGet.Headers, autorebootv1.HTTPHeader(header))
		}
	}
	if s := p.TCPSocket; s != nil {
		out.TCPSocket = &autorebootv1.TCPSocket{Host: s.Host, Port: number(s.Port)}
	}
	if g := p.GRPC; g != nil {
		out.GRPC = &autorebootv1.GRPC{Port: g.Port, Service: g.Service}
	}
	if e := p.Exec; e != nil {
		out.Exec = &autorebootv1.Exec{Command: e.Command}
	}
	return out
}

func probeDown(p *autorebootv1.Probe) *v1alpha1.Probe {
	if p == nil {
		return nil
	}
	out := &v1alpha1.Probe{
		PeriodSeconds:    seconds(p.Period),
		TimeoutSeconds:   seconds(p.Timeout),
		FailureThreshold: p.FailureThreshold,
		SuccessThreshold: p.SuccessThreshold,
	}
	if h := p.HTTPGet; h != nil {
		out.HTTPGet = &v1alpha1.HTTPGet{
			Host: h.Host, Port: intstr.FromInt32(h.Port), Path: h.Path, Scheme: (*string)(h.Scheme),
		}
		for _, header := range h.Headers {
			out.HTTPGet.HTTPHeaders = append(out.HTTPGet.HTTPHeaders, v1alpha1.HTTPHeader(header))
		}
	}
	if s := p.TCPSocket; s != nil {
		out.TCPSocket = &v1alpha1.TCPSocket{Host: s.Host, Port: intstr.FromInt32(s.Port)}
	}
	if g := p.GRPC; g != nil {
		out.GRPC = &v1alpha1.GRPC{Port: g.Port, Service: g.Service}
	}
	if e := p.Exec; e != nil {
		out.Exec = &v1alpha1.Exec{Command: e.Command}
	}
	return out
}

// number is the port's number, or 0 for a name: v1 cannot hold one, and no port is 0.
func number(port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	return 0
}

// durationOf writes seconds in the shortest form, which is how people write durations at v1: the view of
// most objects then needs no annotation.
func durationOf(seconds *int32) *common.Duration {
	if seconds == nil {
		return nil
	}
	d := common.DurationOf(time.Duration(*seconds) * time.Second)
	return &d
}

// seconds rounds up: down would make a timeout of half a second one of none. The order of two
// spans survives it. A span that does not parse shows as absent.
func seconds(d *common.Duration) *int32 {
	if d == nil {
		return nil
	}
	span, err := d.Parse()
	if err != nil {
		return nil
	}
	whole := int64(math.Ceil(span.Seconds()))
	n := int32(min(max(whole, math.MinInt32), math.MaxInt32))
	return &n
}
