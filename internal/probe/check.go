// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Kind is the protocol of a Check.
type Kind uint8

const (
	// KindTCP opens a connection and closes it again.
	KindTCP Kind = iota
	// KindHTTP sends a GET.
	KindHTTP
	// KindGRPC calls the standard gRPC health service.
	KindGRPC
)

// Check is how every target of an object is probed.
type Check struct {
	Kind Kind
	HTTP HTTP
	GRPC GRPC
	// TLS is how the certificate is verified. KindGRPC uses TLS if it is set, and KindHTTP if HTTP.HTTPS is. Defaults
	// to the roots of the system.
	TLS *TLS

	// Interval between two probes of an address. Defaults to 10s.
	Interval time.Duration
	// UnhealthyInterval is the same while it is unhealthy. Defaults to 30s.
	UnhealthyInterval time.Duration
	// Timeout of one probe. Defaults to 2s, or Interval where that is shorter.
	Timeout time.Duration
	// JitterPercent of an interval is added to it at random, at most. Defaults to 0.
	JitterPercent int
	// HealthyThreshold is how many successes in a row make an address healthy. Defaults to 2.
	HealthyThreshold int
	// UnhealthyThreshold is how many failures in a row make it unhealthy. Defaults to 3.
	UnhealthyThreshold int
}

// HTTP is a GET.
type HTTP struct {
	// Path with its query. Defaults to "/".
	Path string
	// Host is the Host header. Defaults to the target's Host, or its address.
	Host string
	// HTTPS uses TLS.
	HTTPS bool
	// Statuses are the ranges that count as success, both ends included. Defaults to 200 to 399.
	Statuses [][2]int
	// Headers to send besides the fixed ones. If one of them is not Sendable every probe ends in ProtocolError.
	Headers []Header
}

// GRPC is a call of the standard gRPC health service.
type GRPC struct {
	// Service to check. Defaults to the server as a whole.
	Service string
	// Authority is the :authority header. Defaults to the target's Host, or its address.
	Authority string
}

// TLS is how a certificate is verified.
type TLS struct {
	// ServerName that the certificate must be for. Defaults to the target's Host, or its address.
	ServerName string
	// RootPEM is trusted instead of the roots of the system. If it holds no certificate every probe ends in
	// TLSFailed. It must not be changed.
	RootPEM []byte
	// SkipVerify accepts any certificate.
	SkipVerify bool
}

// timing is the intervals and thresholds of a Check.
type timing struct {
	interval, unhealthyInterval, timeout time.Duration
	jitterPercent, healthy, unhealthy    int
}

func (c *Check) timing() timing {
	p := timing{
		interval:          positive(c.Interval, 10*time.Second),
		unhealthyInterval: positive(c.UnhealthyInterval, 30*time.Second),
		jitterPercent:     max(c.JitterPercent, 0),
		healthy:           positive(c.HealthyThreshold, 2),
		unhealthy:         positive(c.UnhealthyThreshold, 3),
	}
	p.timeout = positive(c.Timeout, min(2*time.Second, p.interval))
	return p
}

func positive[N int | time.Duration](value, otherwise N) N {
	if value > 0 {
		return value
	}
	return otherwise
}

// sameRequest reports whether two checks send the same request.
func (c *Check) sameRequest(o *Check) bool {
	if c.Kind != o.Kind {
		return false
	}
	switch c.Kind {
	case KindHTTP:
		if c.HTTP.Path != o.HTTP.Path || c.HTTP.Host != o.HTTP.Host || c.HTTP.HTTPS != o.HTTP.HTTPS ||
			!slices.Equal(c.HTTP.Statuses, o.HTTP.Statuses) || !slices.Equal(c.HTTP.Headers, o.HTTP.Headers) {
			return false
		}
	case KindGRPC:
		if c.GRPC != o.GRPC {
			return false
		}
	case KindTCP:
		return true
	}
	if c.TLS == nil || o.TLS == nil {
		return c.TLS == o.TLS
	}
	return c.TLS.ServerName == o.TLS.ServerName && c.TLS.SkipVerify == o.TLS.SkipVerify &&
		bytes.Equal(c.TLS.RootPEM, o.TLS.RootPEM)
}

// Header is a line of a request.
type Header struct{ Name, Value string }

// Sendable reports whether the header may be in a probe's request. Headers about the connection or the end of the
// message are not: a second request could hide there. Nor are the host, which is HTTP.Host, and the user agent.
func (h Header) Sendable() bool {
	if h.Name == "" || strings.ContainsFunc(h.Name, unlikeToken) || strings.ContainsFunc(h.Value, control) {
		return false
	}
	name := strings.ToLower(h.Name)
	switch name {
	case "host", "user-agent", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
		"content-length", "expect", "http2-settings":
		return false
	}
	return !strings.HasPrefix(name, "proxy-")
}

// unlikeToken reports whether a character must not be in a header's name (RFC 9110, section 5.6.2).
func unlikeToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// control reports whether a character must not be in a header's value (RFC 9110, section 5.5).
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func allSendable(headers []Header) bool {
	for _, h := range headers {
		if !h.Sendable() {
			return false
		}
	}
	return true
}

// headerLines returns the headers as they are sent, with an Accept of anything unless they have one.
func headerLines(headers []Header) string {
	var b strings.Builder
	accepts := false
	for _, h := range headers {
		b.WriteString(h.Name + ": " + h.Value + "\r\n")
		accepts = accepts || strings.EqualFold(h.Name, "Accept")
	}
	if !accepts {
		b.WriteString("Accept: */*\r\n")
	}
	return b.String()
}
