// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Up returns a probe of v1alpha1 as a check of v1.
func Up(p *common.Probe, tcp *common.TCPSocketAction) common.Check {
	return common.Check{
		TCPSocket: tcp, HTTPGet: p.HTTPGet, GRPC: p.GRPC, Interval: Duration(p.PeriodSeconds), Timeout: Duration(p.TimeoutSeconds),
		SuccessThreshold: p.SuccessThreshold, FailureThreshold: p.FailureThreshold,
	}
}

// Down returns a check of v1 as a probe of v1alpha1, whose tcpSocket is that of its kind.
func Down(c *common.Check) common.Probe {
	return common.Probe{
		HTTPGet: c.HTTPGet, GRPC: c.GRPC, PeriodSeconds: seconds(c.Interval), TimeoutSeconds: seconds(c.Timeout),
		SuccessThreshold: c.SuccessThreshold, FailureThreshold: c.FailureThreshold,
	}
}

// DropTLS removes the tls of a check that was edited at v1alpha1 to one that v1 refuses with it: by tcpSocket, or by the
// scheme HTTP.
func DropTLS(edited *common.Check) {
	if edited.TCPSocket != nil || edited.HTTPGet != nil && ptr.Deref(edited.HTTPGet.Scheme, common.SchemeHTTPS) == common.SchemeHTTP {
		edited.TLS = nil
	}
}

// Duration writes seconds in the shortest form, which is how people write durations at v1: the view of most objects then
// needs no annotation.
func Duration(seconds *int32) *common.Duration {
	if seconds == nil {
		return nil
	}
	return ptr.To(common.DurationOf(time.Duration(*seconds) * time.Second))
}

// seconds rounds up, so that a timeout of half a second does not become none: the order of two spans survives it. A span
// that does not parse, for which admission refuses the object, shows as absent.
func seconds(d *common.Duration) *int32 {
	if d == nil {
		return nil
	}
	span, err := d.Parse()
	if err != nil {
		return nil
	}
	whole := math.Ceil(span.Seconds())
	return ptr.To(int32(min(max(whole, math.MinInt32), math.MaxInt32)))
}
