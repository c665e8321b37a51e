// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/fairlead-dev/fairlead/internal/connections"
)

// maxQuiet bounds the wait for silent connections. HTTP/1.1 cannot tell a client that an idle connection ends: a
// request that the client sends at that time is lost. After DefaultDrainDelay, most connections have been used once
// more, and were closed by the response.
const maxQuiet = 2 * time.Second

// drain stops the server so that no request is lost. First the server becomes not ready. Until the endpoints have
// followed, it still responds to each request, but closes its connection: clients move away one request at a time. Then
// the listener closes, the open connections are used up or fall silent, and the requests in flight complete.
// controller-runtime refuses connections at once (kubernetes-sigs/controller-runtime#3113).
func (s *Server) drain(ctx context.Context, httpServer *http.Server, listener net.Listener, served <-chan error) error {
	start := s.now()
	s.readiness.close(errDraining)
	s.draining.Store(true)
	s.log.Info("Webhook server drains", "delay", s.options.DrainDelay, "timeout", s.options.DrainTimeout, "inFlight", s.inFlight.Load())
	if err := waitDelay(s.options.DrainDelay, served); err != nil {
		return fmt.Errorf("webhook server: serve %s while draining: %w", s.Addr(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.DrainTimeout)
	defer cancel()
	err := listener.Close()
	if serveErr := <-served; !errors.Is(serveErr, net.ErrClosed) {
		err = errors.Join(err, fmt.Errorf("webhook server: serve %s: %w", s.Addr(), serveErr))
	}
	s.waitIdle(ctx, min(s.options.DrainDelay, maxQuiet))
	if shutErr := httpServer.Shutdown(ctx); shutErr != nil {
		cut := s.inFlight.Load()
		err = errors.Join(err, fmt.Errorf("webhook server: %d requests were still in flight after %s and are cut off: %w",
			cut, s.options.DrainTimeout, errors.Join(shutErr, httpServer.Close())))
	}
	s.readiness.close(errStopped)
	s.log.Info("Webhook server stopped", "after", s.now().Sub(start))
	return err
}

// waitIdle waits until no connection is open, or none was used for a time. It counts the time in ticks for which this
// process ran: while it was suspended, its clients may have sent. Without it, Shutdown would lose requests. It closes
// idle connections just when a client may send on them. It also drops the first request on a connection that a client
// dialed ahead (net/http, conn.serve).
func (s *Server) waitIdle(ctx context.Context, quiet time.Duration) {
	const ticks = 20
	if quiet <= 0 {
		return
	}
	ticker := time.NewTicker(max(quiet/ticks, time.Millisecond))
	defer ticker.Stop()
	used := s.used.Load()
	for silent := 0; silent < ticks && s.open.Load() > 0; silent++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := s.used.Load(); now != used {
			silent, used = -1, now
		}
	}
}

// trackConn counts the open connections and their changes of state.
func (s *Server) trackConn(conn net.Conn, state http.ConnState) {
	s.used.Add(1)
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateActive:
		connections.Of(conn).SetState(connections.Sending)
	case http.StateIdle:
		connections.Of(conn).SetState(connections.Idle)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// waitDelay waits for the delay, or until the server fails.
func waitDelay(delay time.Duration, served <-chan error) error {
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case err := <-served:
		return err
	case <-timer.C:
		return nil
	}
}
