// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// gateway stands between one replica and the API server, and can be slow or cut. It speaks to the
// API server as the operator.
type gateway struct {
	kubeconfig string // for the replica
	proxy      *httputil.ReverseProxy

	mu      sync.Mutex
	slow    match
	proceed chan struct{} // closed when what is slow goes on
	waiting int
	severed match
	open    map[*http.Request]context.CancelFunc
}

// match says whether a request is meant.
type match func(*http.Request) bool

// newGateway starts one, for as long as the test runs.
func (s *scene) newGateway() *gateway {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.Operator().Kubeconfig)
	s.must(err)
	transport, err := rest.TransportFor(config)
	s.must(err)
	target, err := url.Parse(config.Host)
	s.must(err)
	g := &gateway{open: map[*http.Request]context.CancelFunc{}}
	g.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
		// To the replica the API server has gone, not answered.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, //nolint:forbidigo // net/http's way to drop a connection
	}
	server := httptest.NewUnstartedServer(g)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	s.Cleanup(func() {
		g.resume()
		server.CloseClientConnections()
		server.Close()
	})
	g.kubeconfig = s.writeKubeconfig(server.URL)
	return g
}

// writeKubeconfig makes one for a server that asks nobody who they are.
func (s *scene) writeKubeconfig(server string) string {
	s.Helper()
	return s.writeFile("kubeconfig", fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], "+
		"clusters: [{name: c, cluster: {server: %q}}]}\n", server))
}

// writeFile makes a file for the test and answers its path.
func (s *scene) writeFile(name, content string) string {
	s.Helper()
	path := filepath.Join(s.TempDir(), name)
	s.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

// hold makes requests wait until resume.
func (g *gateway) hold(m match) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slow, g.proceed, g.waiting = m, make(chan struct{}), 0
}

// held counts the requests that have been made to wait.
func (g *gateway) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

func (g *gateway) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slow != nil {
		close(g.proceed)
		g.slow = nil
	}
}

// cut breaks off requests, those under way and those to come.
func (g *gateway) cut(m match) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.severed = m
	for request, end := range g.open {
		if m(request) {
			end()
		}
	}
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	g.mu.Lock()
	if g.severed != nil && g.severed(r) {
		g.mu.Unlock()
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to drop a connection
	}
	g.open[r] = end
	var wait <-chan struct{}
	if g.slow != nil && g.slow(r) {
		wait = g.proceed
		g.waiting++
	}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.open, r)
	}()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to drop a connection
		}
	}
	g.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// firstReads are the reads that fill the caches of our kinds, as LIST or as WATCH from the start.
func firstReads(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, ".fairlead.dev/v1/")
}

// leases is all that election needs.
func leases(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }
