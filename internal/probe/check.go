// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Check is how every target of an object is probed.
type Check struct {
	// Check is that of the object, with its defaults. Each target has its own port.
	common.Check
	// UnhealthyInterval is the interval while an address is unhealthy. Defaults to interval.
	UnhealthyInterval time.Duration
	// JitterPercent of an interval is added to it at random, at most. Defaults to 0.
	JitterPercent int
	// Secrets is the content of the Secrets that Check names.
	Secrets
}

// timing is the intervals and thresholds of a Check.
type timing struct {
	interval, unhealthyInterval, timeout time.Duration
	jitterPercent, healthy, unhealthy    int
}

func (c *Check) timing() timing {
	t := timing{
		interval: c.Interval.Or(0), unhealthyInterval: c.UnhealthyInterval, timeout: c.Timeout.Or(0),
		jitterPercent: max(c.JitterPercent, 0), healthy: int(*c.SuccessThreshold), unhealthy: int(*c.FailureThreshold),
	}
	if t.unhealthyInterval <= 0 {
		t.unhealthyInterval = t.interval
	}
	return t
}

// isEqual reports whether two checks are the same, except for their times and thresholds.
func (c *Check) isEqual(o *Check) bool {
	return equality.Semantic.DeepEqual(c.Request(), o.Request()) && c.Equal(&o.Secrets)
}

// sameRequest reports whether two checks send the same request and trust the same certificates. The name of a port is that
// of the port of each target, and the name of a Secret that of RootPEM. A credential that is rotated makes no other request:
// the address of a check that succeeds stays healthy until so many checks fail by the new one.
func (c *Check) sameRequest(o *Check) bool {
	return equality.Semantic.DeepEqual(Unnamed(&c.Check), Unnamed(&o.Check)) && bytes.Equal(c.RootPEM, o.RootPEM)
}

// Unnamed returns the request of a check without the names of its port and of the Secret that it trusts.
func Unnamed(c *common.Check) common.Check {
	request := c.Request()
	request = *request.DeepCopy()
	switch {
	case request.TCPSocket != nil:
		request.TCPSocket.Port = nil
	case request.HTTPGet != nil:
		request.HTTPGet.Port = nil
	case request.GRPC != nil:
		request.GRPC.Port = nil
	}
	if request.TLS != nil {
		request.TLS.CASecretName = ""
	}
	return request
}

// onlyConnects reports whether a probe sends nothing.
func (c *Check) onlyConnects() bool {
	return c.TCPSocket != nil && len(c.TCPSocket.Steps) == 0 && c.TLS == nil
}

func (c *Check) isHTTPS() bool { return c.HTTPGet != nil && *c.HTTPGet.Scheme == common.SchemeHTTPS }

// usesTLS reports whether a probe makes a TLS handshake.
func (c *Check) usesTLS() bool { return c.isHTTPS() || c.HTTPGet == nil && c.TLS != nil }

// UsesHost reports whether a probe sends the DNS name of its target, or verifies it.
func (c *Check) UsesHost() bool {
	return c.TCPSocket == nil && c.hostHeader() == "" || c.usesTLS() && c.serverName() == ""
}

// serverName returns the name that the certificate must be for; empty for that of the target.
func (c *Check) serverName() string {
	if c.TLS == nil {
		return ""
	}
	return ptr.Deref(c.TLS.ServerName, "")
}

// hostHeader returns the Host header or the authority; empty for that of the target.
func (c *Check) hostHeader() string {
	switch {
	case c.GRPC != nil:
		return ptr.Deref(c.GRPC.Authority, "")
	case c.HTTPGet == nil:
		return ""
	}
	host := ptr.Deref(c.HTTPGet.HostHeader, "")
	for _, h := range c.HTTPGet.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			host = h.Value
		}
	}
	return host
}

// headers returns the lines of the request besides those that are the same for every check, with an Accept of anything
// unless it has one; ok is false where one of them cannot be sent.
func (c *Check) headers() (lines string, ok bool) {
	if c.HTTPGet == nil {
		return "", true
	}
	var b strings.Builder
	for _, h := range c.HTTPGet.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			continue
		}
		if !rules.IsSendableHeader(h) {
			return "", false
		}
		b.WriteString(h.Name + ": " + h.Value + "\r\n")
	}
	if !slices.ContainsFunc(c.HTTPGet.HTTPHeaders, func(h common.HTTPHeader) bool { return strings.EqualFold(h.Name, "Accept") }) {
		b.WriteString("Accept: */*\r\n")
	}
	return b.String(), true
}
