// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Kind says which part of a Check counts.
type Kind uint8

const (
	// KindTCP opens a connection and closes it again.
	KindTCP Kind = iota
	// KindHTTP sends a GET.
	KindHTTP
	// KindGRPC asks the standard gRPC health service.
	KindGRPC
)

// Check is how every target of an object is probed.
type Check struct {
	Kind Kind
	HTTP HTTP
	GRPC GRPC
	// TLS says how the other side's certificate is verified, and that KindGRPC uses TLS at all.
	// KindHTTP uses it where HTTP.HTTPS is set. The default is to verify with the system's roots.
	TLS *TLS

	// Interval between two probes of an address. The default is 10s.
	Interval time.Duration
	// UnhealthyInterval is the same while it is unhealthy. The default is 30s.
	UnhealthyInterval time.Duration
	// Timeout of one probe, from dial to verdict. The default is 2s, or Interval where that is
	// shorter.
	Timeout time.Duration
	// JitterPercent of an interval that is added to it at random, at most. The default is none.
	JitterPercent int
	// HealthyThreshold is how many successes in a row make an address healthy. The default is 2.
	HealthyThreshold int
	// UnhealthyThreshold is how many failures in a row make it unhealthy. The default is 3.
	UnhealthyThreshold int
}

// HTTP is a GET.
type HTTP struct {
	// Path with its query. The default is "/".
	Path string
	// Host is the Host header. The default is the target's Host, or its address.
	Host string
	// HTTPS asks over TLS.
	HTTPS bool
	// Statuses are the ranges that count as success, both ends included. The default is 200 to 399.
	Statuses [][2]int
	// Headers to send beside the fixed ones. Where one of them is not Sendable every probe ends in
	// ProtocolError.
	Headers []Header
}

// GRPC is a call of the standard gRPC health service.
type GRPC struct {
	// Service to ask about. The default is the server as a whole.
	Service string
	// Authority is the :authority header. The default is the target's Host, or its address.
	Authority string
}

// TLS says how a certificate is verified.
type TLS struct {
	// ServerName that the certificate must be for. The default is the target's Host, or its address.
	ServerName string
	// RootPEM is trusted instead of the system's roots. Where it holds no certificate every probe
	// ends in TLSFailed. It must not be changed after it was handed over.
	RootPEM []byte
	// SkipVerify accepts any certificate.
	SkipVerify bool
}

// timing is the part of a Check that says when and how often, and not what.
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

// sameRequest says whether two checks ask the same question.
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

// Sendable says whether the line can stand in a probe's request as one header among others. What is
// of one connection or of the message's end is refused, since a second request could hide there; and
// so are the host, which is HTTP.Host, and the name by which the other side knows who asks.
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

// unlikeToken tells what a header's name must not hold (RFC 9110, section 5.6.2).
func unlikeToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// control tells what a header's value must not hold (RFC 9110, section 5.5).
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func allSendable(headers []Header) bool {
	for _, h := range headers {
		if !h.Sendable() {
			return false
		}
	}
	return true
}

// headerLines are the headers as they are sent. Anything is accepted unless one of them says what is.
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
