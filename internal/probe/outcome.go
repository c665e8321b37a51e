// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// outcome of a probe, in a byte.
type outcome uint8

const (
	none outcome = iota
	connected
	refused
	reset
	timedOut
	unreachable
	tlsFailed
	certificateExpired
	certificateUntrusted
	certificateMismatch
	clientCertificateRequired
	unexpectedStatus
	unexpectedResponse
	notServing
	serviceUnknown
	healthServiceMissing
	protocolError
	denied
	// unresolved: the name of a target has no address.
	unresolved
	// local: the error is about this process only, and does not count.
	local
	outcomes
)

func (o outcome) reason() string {
	switch o {
	case connected:
		return networkingv1.ProbeConnected
	case refused:
		return networkingv1.ProbeRefused
	case reset:
		return networkingv1.ProbeReset
	case timedOut:
		return networkingv1.ProbeTimeout
	case unreachable:
		return networkingv1.ProbeUnreachable
	case tlsFailed:
		return networkingv1.ProbeTLSFailed
	case certificateExpired:
		return networkingv1.ProbeCertificateExpired
	case certificateUntrusted:
		return networkingv1.ProbeCertificateUntrusted
	case certificateMismatch:
		return networkingv1.ProbeCertificateMismatch
	case clientCertificateRequired:
		return networkingv1.ProbeClientCertificateRequired
	case unexpectedStatus:
		return networkingv1.ProbeUnexpectedStatus
	case unexpectedResponse:
		return networkingv1.ProbeUnexpectedResponse
	case notServing:
		return networkingv1.ProbeNotServing
	case serviceUnknown:
		return networkingv1.ProbeServiceUnknown
	case healthServiceMissing:
		return networkingv1.ProbeHealthServiceMissing
	case protocolError:
		return networkingv1.ProbeProtocolError
	case denied:
		return networkingv1.ProbeDenied
	case unresolved:
		return common.ReasonHostUnresolved
	case local:
		return "Local"
	case none, outcomes:
	}
	return ""
}

// ErrLocal is in the error of a Dial that failed for a reason about this process only. Such a result does not count.
var ErrLocal = errors.New("not possible at the moment")

// withPause returns the outcome of a probe during which this process was paused. A timeout or an incomplete response is local
// if the pause took more than a quarter of the timeout. Otherwise it counts. On a node under load, some pause falls into each
// probe that may take a minute: an address that hangs would never be Unhealthy.
func (o outcome) withPause(paused, timeout time.Duration) outcome {
	if (o == timedOut || o == unexpectedResponse) && paused > timeout/4 {
		return local
	}
	return o
}

// isNotProbed reports whether nothing was sent: with Options.RequireThreshold that is no failure.
func (o outcome) isNotProbed() bool { return o == denied || o == unresolved }

// remoteAlert is the operation that crypto/tls names where the other side sent an alert. The type of
// the alert itself is not exported.
const remoteAlert = "remote error"

// outcomeOf returns the outcome of an error by its type. It ignores the text: the server may have written part of it. For other
// errors it returns otherwise.
func outcomeOf(err error, otherwise outcome) outcome {
	var network net.Error
	var operation *net.OpError
	switch {
	case errors.Is(err, egress.ErrDenied):
		return denied
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return timedOut
	case errors.Is(err, ErrLocal), anyOf(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS):
		return local
	case anyOf(err, syscall.ECONNREFUSED):
		return refused
	case anyOf(err, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED):
		return reset
	case anyOf(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN):
		return unreachable
	case errors.As(err, &network) && network.Timeout():
		return timedOut
	case errors.As(err, &operation) && operation.Op == remoteAlert:
		return alertOutcome(operation.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return reset
	}
	return verificationOutcome(err, otherwise)
}

// clientCertificateAlerts are those of TLS 1.3 and 1.2 by which a server refuses a client without a certificate, or with one
// that is broken, of another kind, revoked, expired, unacceptable or of an unknown authority (RFC 8446, section 6).
var clientCertificateAlerts = []string{
	tls.AlertError(116).Error(), tls.AlertError(42).Error(), tls.AlertError(43).Error(), tls.AlertError(44).Error(),
	tls.AlertError(45).Error(), tls.AlertError(46).Error(), tls.AlertError(48).Error(),
}

// alertOutcome returns the outcome of an alert. Its text is crypto/tls's for the number that the server sent.
func alertOutcome(alert error) outcome {
	if slices.Contains(clientCertificateAlerts, alert.Error()) {
		return clientCertificateRequired
	}
	return tlsFailed
}

// verificationOutcome returns the outcome of a certificate that was refused. Other errors are otherwise.
func verificationOutcome(err error, otherwise outcome) outcome {
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return certificateExpired
	case errors.As(err, &authority):
		return certificateUntrusted
	case errors.As(err, &name):
		return certificateMismatch
	}
	return otherwise
}

func anyOf(err error, numbers ...syscall.Errno) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return false
	}
	for _, n := range numbers {
		if n == number {
			return true
		}
	}
	return false
}
