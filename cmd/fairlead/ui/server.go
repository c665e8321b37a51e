// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/connections"
)

const (
	maxConnections = 64
	maxStreams     = 16
	// writeTimeout bounds a response, and each event of a stream.
	writeTimeout = 30 * time.Second
	// graceful is how long requests may take to end.
	graceful = 3 * time.Second
)

//go:embed assets
var assets embed.FS

// Options of a Server.
type Options struct {
	// From reads the cluster. It is required.
	From client.WithWatch
	// Cluster names the cluster on the page. It may be empty.
	Cluster string
	// Namespace is shown. Defaults to all.
	Namespace string
	// OperatorNamespace has the operator's Lease. It is required.
	OperatorNamespace string
	// Port to listen on. Defaults to one that is free.
	Port int
	// Now is the time. Defaults to time.Now.
	Now func() time.Time
}

// Server serves the pages.
type Server struct {
	options Options
	token   string
	host    string // with the port
	live    *inspect.Live
	streams streams

	mu   sync.Mutex
	kept *view
}

// NewServer returns a Server that does not listen yet.
func NewServer(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{options: o, token: rand.Text(), streams: streams{ended: make(chan struct{}), open: map[chan struct{}]struct{}{}}}
}

// Run reads the cluster, calls ready with the address of the page, and serves it until the context ends.
func (s *Server) Run(parent context.Context, ready func(address string)) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	var listening net.ListenConfig
	raw, err := listening.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.options.Port)))
	if err != nil {
		return fmt.Errorf("%w: name a port that is free with --port", err)
	}
	defer raw.Close() //nolint:errcheck // nothing is lost with a listener
	s.host = raw.Addr().String()
	if s.live, err = inspect.Follow(ctx, s.options.From, s.options.Namespace, s.streams.change); err != nil {
		if parent.Err() != nil {
			return nil
		}
		return err
	}
	s.live.FollowLeaders(ctx, s.options.OperatorNamespace, clock.RealClock{})
	server := &http.Server{
		Handler: s, ConnContext: connections.Context, ConnState: connections.Track, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: writeTimeout, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	go s.streams.run(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(connections.Bound(raw, connections.Options{Max: maxConnections})) }()
	ready("http://" + s.host + "/" + s.token + "/")
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	if err := server.Shutdown(ending); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}

// policy lets a page load what this server has, and nothing else. No script or style is inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP refuses a request without the token, or from a page of another origin.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	token, page, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	origin := r.Header.Get("Origin")
	switch {
	case !s.isHost(r.Host):
		http.Error(w, "The host of the request is not "+s.host+": use the address that fairlead ui has printed.", http.StatusMisdirectedRequest)
	case origin != "" && (!strings.HasPrefix(origin, "http://") || !s.isHost(strings.TrimPrefix(origin, "http://"))):
		http.Error(w, "The request comes from a page of another origin.", http.StatusForbidden)
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
		http.Error(w, "The address has no valid token: use the one that fairlead ui has printed.", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Pages are only read here.", http.StatusMethodNotAllowed)
	case r.ContentLength != 0:
		http.Error(w, "A request has no body here.", http.StatusRequestEntityTooLarge)
	default:
		s.page(w, r, page)
	}
}

// isHost reports whether a request names this server, so that no name of an attacker's resolves to it.
func (s *Server) isHost(host string) bool {
	return host == s.host || host == strings.Replace(s.host, "127.0.0.1", "localhost", 1)
}

func (s *Server) page(w http.ResponseWriter, r *http.Request, page string) {
	switch page {
	case "style.css":
		http.ServeFileFS(w, r, assets, "assets/style.css")
	case "script.js":
		http.ServeFileFS(w, r, assets, "assets/script.js")
	case "events":
		s.streams.serve(w, r)
	case "", "graph", "timeline":
		s.write(w, r, page)
	default:
		http.NotFound(w, r)
	}
}
