// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// Proxy forwards requests to the API server, with its faults. Its methods may be called from any goroutine.
type Proxy struct {
	// Kubeconfig is the path of the kubeconfig that clients of the proxy use.
	Kubeconfig string

	forward *httputil.ReverseProxy
	server  *httptest.Server
	ctx     context.Context
	end     context.CancelFunc

	mu          sync.Mutex // guards what follows
	faults      []*Active
	counts      map[string]int
	connections map[*connection]struct{}
	accepted    int
}

// Listen starts a proxy that speaks to the API server as a user, and writes its kubeconfig into a folder. The caller
// closes it.
func Listen(user cluster.User, folder string) (*Proxy, error) {
	forward, err := framework.NewProxy(user)
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{
		Kubeconfig: filepath.Join(folder, "faultproxy.kubeconfig"), forward: forward,
		counts: map[string]int{}, connections: map[*connection]struct{}{},
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	forward.ModifyResponse = p.modify
	p.server = httptest.NewUnstartedServer(p)
	p.server.Listener = &listener{p.server.Listener, p}
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.Config.ConnContext = contextOf
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	if err := os.WriteFile(p.Kubeconfig, p.kubeconfig(), 0o600); err != nil {
		p.Close()
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	return p, nil
}

func (p *Proxy) kubeconfig() []byte {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return fmt.Appendf(nil, "{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], "+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]}\n",
		p.server.URL, base64.StdEncoding.EncodeToString(authority))
}

// Close stops the proxy and ends the requests that are under way.
func (p *Proxy) Close() {
	p.end()
	p.mu.Lock()
	open := slices.Collect(maps.Keys(p.connections))
	p.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
		_ = c.Conn.Close()
	}
	p.server.Close()
}

// Add switches a fault on.
func (p *Proxy) Add(f Fault) *Active {
	a := &Active{fault: f, proxy: p, added: time.Now(), lifted: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, a)
	return a
}

func (p *Proxy) lift(a *Active) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.faults, a); at >= 0 {
		p.faults = slices.Delete(p.faults, at, at+1)
		close(a.lifted)
	}
}

// Counts returns how many times each request was made so far, by Request.String.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// strike counts a request, and returns the fault that applies to it; nil if there is none.
func (p *Proxy) strike(r *http.Request, request Request) *Active {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[request.String()]++
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		c.carried = append(c.carried, request)
	}
	for _, a := range slices.Backward(p.faults) {
		if a.fault.Match(request) && (a.fault.Times == 0 || a.struck < a.fault.Times) {
			a.struck++
			return a
		}
	}
	return nil
}

type requestKey struct{}

// struckRequest is in the context of a request that is forwarded to the API server.
type struckRequest struct {
	Request
	delay time.Duration
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)() //nolint:contextcheck // both end it
	request := requestOf(r.Method, r.URL)
	r.Header.Del("Accept-Encoding") // an API server compresses watches, too, whose events could not be told apart
	forwarded := struckRequest{Request: request}
	if struck := p.strike(r, request); struck != nil {
		forwarded.delay = struck.fault.Delay
		if struck.fault.Silent {
			select {
			case <-struck.lifted:
			case <-ctx.Done():
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to drop a request
			}
		}
		if answer := struck.fault.Answer; answer != nil {
			sleep(ctx, struck.fault.Delay)
			code, contentType, body := answer(request)
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = w.Write(body)
			return
		}
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestKey{}, forwarded)))
}

// modify delays a response, and wraps its body so that the faults apply to it.
func (p *Proxy) modify(response *http.Response) error {
	ctx := response.Request.Context()
	request, ok := ctx.Value(requestKey{}).(struckRequest)
	if !ok {
		return fmt.Errorf("%s was not made by this proxy", response.Request.URL.Path)
	}
	sleep(ctx, request.delay)
	response.Body = p.newBody(response, request.Request)
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
