// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/connections"
	"github.com/fairlead-dev/fairlead/internal/pauses"
)

// Server serves webhooks. Create it with New, and start it once.
type Server struct {
	options Options
	log     logr.Logger
	mux     *http.ServeMux
	metrics serverMetrics
	now     func() time.Time

	readiness  readiness
	clientAuth *clientAuth // nil if every client may call
	slots      semaphores  // by path; each request that is processed holds one
	work       *semaphore  // memory of heavy requests, which hold no slot
	heavy      int         // how many heavy requests may be processed at a time
	bodies     *semaphore  // memory of bodies above smallBody
	pauses     pauses.Meter
	inFlight   atomic.Int64
	open       atomic.Int64 // connections
	used       atomic.Int64 // changes of the state of connections
	draining   atomic.Bool

	mu         sync.Mutex
	paths      map[string]bool
	misplaced  []error // failed registrations; Start returns them
	started    bool
	listenAddr net.Addr
}

// New returns a server. Start returns an error if the options are invalid.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		options: o,
		log:     o.Logger,
		mux:     http.NewServeMux(),
		metrics: newMetrics(o.Registerer, o.Logger),
		now:     o.Now,
		slots:   semaphores{size: int64(o.MaxInFlight), by: make(map[string]*semaphore)},
		work:    newSemaphore(o.Memory * 2 / 3),
		heavy:   max(2, runtime.GOMAXPROCS(0)/2),
		bodies:  newSemaphore(o.Memory / 3),
		pauses:  pauses.Meter{Every: 100 * time.Millisecond, Least: 400 * time.Millisecond},
		paths:   make(map[string]bool),
	}
	s.clientAuth = newClientAuth(o, func() time.Time { return s.now() }, s.metrics.refusedCallers)
	s.readiness.init(s.metrics.ready, o.Logger)
	return s
}

// Register serves a handler at a path. If the path is taken, Start returns an error.
func (s *Server) Register(path string, handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths[path] {
		s.misplaced = append(s.misplaced, fmt.Errorf("path %s has two handlers", path))
		return
	}
	s.paths[path] = true
	s.slots.of(path)
	// The mux panics on what it cannot parse, and this method has no error to return.
	defer func() {
		if p := recover(); p != nil {
			s.misplaced = append(s.misplaced, fmt.Errorf("path %q: %v", path, p))
		}
	}()
	s.mux.Handle(path, handler)
}

// Addr returns the address on which the server listens; nil before that.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listenAddr
}

// Start serves until ctx ends, and then drains. It returns when no request is left. It returns an error if it could not
// listen, or had to end requests.
func (s *Server) Start(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("webhook server: %w", err)
	}
	listener, err := s.listen(ctx)
	if err != nil {
		return fmt.Errorf("webhook server: %w", err)
	}
	// Requests outlive ctx, since the drain completes them.
	httpServer := s.httpServer(context.WithoutCancel(ctx))
	watching, stopWatching := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { s.watch(watching) })
	measuring, stopMeasuring := context.WithCancel(context.WithoutCancel(ctx)) // the drain too
	watcher.Go(func() { s.pauses.Run(measuring) })
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(listener) }()
	s.log.Info("Webhook server listens", "address", s.Addr().String(), "minTLSVersion", tls.VersionName(s.options.MinTLSVersion))

	defer func() {
		stopWatching()
		stopMeasuring()
		watcher.Wait()
	}()
	select {
	case err := <-served:
		s.readiness.close(errStopped)
		return fmt.Errorf("webhook server: serve %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	return s.drain(context.WithoutCancel(ctx), httpServer, listener, served)
}

func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("it was started already; make a new one")
	}
	s.started = true
	return errors.Join(append(s.misplaced, s.options.check())...)
}

// maxHeader bounds the header of a request, in bytes; net/http accepts 4 KiB more. A parsed header may take thirty
// times its size in memory, and any client may send one. API servers send some hundred bytes.
const maxHeader = 4 << 10

func (s *Server) httpServer(base context.Context) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           s.handler(),
		ConnState:         s.trackConn,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       connections.Context,
		Protocols:         &protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog: connections.NewErrorLog(connections.LogOptions{
			Logger: s.log, Message: "Webhook connection error", Handshakes: s.metrics.handshakeFailures,
			Ignore: errCaller, // clientAuth logs these, with their reasons
		}),
	}
}
