// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	errNotStarted = errors.New("it does not listen yet")
	errDraining   = errors.New("it is draining")
	errStopped    = errors.New("it has stopped")
)

// readiness is the result of the last self check.
type readiness struct {
	gauge prometheus.Gauge
	log   logr.Logger

	mu          sync.Mutex
	reason      error             // why it is not ready; nil when it is
	certificate *x509.Certificate // the certificate of the last good self check, if reason is nil
	closed      bool              // whether the server is not ready for good
	changed     chan struct{}     // closed on the next result
}

func (r *readiness) init(gauge prometheus.Gauge, log logr.Logger) {
	r.gauge, r.log, r.reason, r.changed = gauge, log, errNotStarted, make(chan struct{})
	gauge.Set(0)
}

// proven makes the server ready: it has checked itself with this certificate.
func (r *readiness) proven(certificate *x509.Certificate) { r.set(nil, certificate, false) }

// failed makes the server not ready until its next good self check.
func (r *readiness) failed(reason error) { r.set(reason, nil, false) }

// close makes the server not ready for good.
func (r *readiness) close(reason error) { r.set(reason, nil, true) }

func (r *readiness) set(reason error, certificate *x509.Certificate, final bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && !final {
		return
	}
	was := r.reason
	r.reason, r.certificate, r.closed = reason, certificate, final
	close(r.changed)
	r.changed = make(chan struct{})
	if reason == nil {
		r.gauge.Set(1)
		if was != nil {
			r.log.Info("Webhook server is ready", "certificateExpires", certificate.NotAfter)
		}
		return
	}
	r.gauge.Set(0)
	if !final && (was == nil || was.Error() != reason.Error()) {
		r.log.Info("Webhook server is not ready", "reason", reason.Error())
	}
}

func (r *readiness) verdict(now time.Time) (changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.reason
	if err == nil {
		err = current(r.certificate, now)
	}
	return r.changed, err
}

// Ready returns why the server cannot be used, or nil. It returns the last result and makes no handshake.
func (s *Server) Ready() error {
	_, err := s.readiness.verdict(s.now())
	if err != nil {
		return fmt.Errorf("webhook server is not ready: %w", err)
	}
	return nil
}

// WaitReady waits until the server is ready. If ctx ends first, it returns why the server is not.
func (s *Server) WaitReady(ctx context.Context) error {
	for {
		changed, err := s.readiness.verdict(s.now())
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("webhook server is not ready: %w (%w)", err, context.Cause(ctx))
		}
	}
}
