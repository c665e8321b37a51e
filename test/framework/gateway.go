// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

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
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// Gateway is between one replica and the API server, and can be slow or cut. It speaks to the API server
// as the operator. Its methods may be called from any goroutine.
type Gateway struct {
	// Kubeconfig is the path of a kubeconfig for the replica.
	Kubeconfig string
	proxy      *httputil.ReverseProxy
	server     *httptest.Server

	mu      sync.Mutex
	slow    Match
	proceed chan struct{} // closed when what is slow goes on
	waiting int
	severed Match
	open    map[*http.Request]context.CancelFunc
}

// Match says whether a request is meant.
type Match func(*http.Request) bool

// NewGateway starts one, with its kubeconfig in a folder. The caller closes it.
func (c *Cluster) NewGateway(folder string) (*Gateway, error) {
	proxy, err := NewProxy(c.Operator())
	if err != nil {
		return nil, err
	}
	g := &Gateway{Kubeconfig: filepath.Join(folder, "gateway.kubeconfig"), proxy: proxy, open: map[*http.Request]context.CancelFunc{}}
	g.server = NewServer(g)
	if err := os.WriteFile(g.Kubeconfig, []byte(KubeconfigOf(g.server.URL)), 0o600); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// NewProxy returns one that speaks to the API server as a user, for any caller.
func NewProxy(user cluster.User) (*httputil.ReverseProxy, error) {
	config, err := clientcmd.BuildConfigFromFlags("", user.Kubeconfig)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
		// To the replica the API server has gone, not answered.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, //nolint:forbidigo // net/http's way to drop a connection
	}, nil
}

// NewServer starts one of this host that logs nothing.
func NewServer(handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	return server
}

// KubeconfigOf is a kubeconfig for a server that asks no one who they are.
func KubeconfigOf(server string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], "+
		"clusters: [{name: c, cluster: {server: %q}}]}\n", server)
}

// Close ends it, and what is under way.
func (g *Gateway) Close() {
	g.Cut(func(*http.Request) bool { return true }) // or the server waits for watches, and replicas come again
	g.Resume()
	g.server.CloseClientConnections()
	g.server.Close()
}

// Hold makes requests wait until Resume.
func (g *Gateway) Hold(m Match) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slow, g.proceed, g.waiting = m, make(chan struct{}), 0
}

// Held counts the requests that have been made to wait.
func (g *Gateway) Held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Resume lets go on what is slow.
func (g *Gateway) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slow != nil {
		close(g.proceed)
		g.slow = nil
	}
}

// Cut breaks off requests, those under way and those to come.
func (g *Gateway) Cut(m Match) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.severed = m
	for request, end := range g.open {
		if m(request) {
			end()
		}
	}
}

// ServeHTTP is the replica's way to the API server.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
