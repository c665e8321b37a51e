// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// fault is a disturbance of one request.
type fault string

const (
	killBefore fault = "killed before the request"
	killAfter  fault = "killed after the answer"
	lost       fault = "the answer is lost"
	conflict   fault = "refused by 409"
	failure    fault = "refused by 500"
	// sever lets the request through, and no election from then on.
	sever fault = "the lease is lost"
	// late is sever, and the request is delivered when deliver is called.
	late fault = "the lease is lost, and the request comes late"
)

// charge is a fault that waits for its request.
type charge struct {
	fault fault
	nth   int               // of those that match
	match func(string) bool // by the name of the request, such as "PATCH deployments"
	kill  func()
}

// gateway stands between one replica and the API server, speaks to it for the replica, and counts the
// writes to one namespace.
type gateway struct {
	kubeconfig string // for the replica
	namespace  string
	proxy      *httputil.ReverseProxy

	mu      sync.Mutex
	armed   *charge
	struck  string   // the request that the last charge met
	faulty  bool     // the request that a charge met is being handled
	seen    []string // all writes
	latest  time.Time
	severed bool
	delayed func() int // delivers what is late
	killed  []string   // the UIDs of pods that the API server was asked to end, and agreed
}

// victim is the key of the UID of the pod that a request is to end, in its context.
type victim struct{}

// uuid matches a UID, in whichever encoding.
var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// newGateway starts one, for as long as the test runs.
func (s *suite) newGateway() *gateway {
	s.Helper()
	return s.newGatewayFor(s.Operator())
}

// newGatewayFor speaks to the API server as another user.
func (s *suite) newGatewayFor(user cluster.User) *gateway {
	s.Helper()
	g := &gateway{namespace: s.Namespace, latest: time.Now()}
	var err error
	g.proxy, err = framework.NewProxy(user)
	s.Must(err)
	g.proxy.ModifyResponse = func(response *http.Response) error {
		if uid, ends := response.Request.Context().Value(victim{}).(string); ends && response.StatusCode < 300 {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.killed = append(g.killed, uid)
		}
		return nil
	}
	server := framework.NewServer(g)
	s.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	g.kubeconfig = s.File("kubeconfig", framework.KubeconfigOf(server.URL))
	return g
}

// drop ends a connection without an answer.
func drop() { panic(http.ErrAbortHandler) } //nolint:forbidigo // net/http's way to drop a connection

// name is a request's verb and resource where it writes to the namespace, as "PATCH deployments" or
// "POST pods/eviction", and "" otherwise.
func (g *gateway) name(r *http.Request) string {
	if r.Method == http.MethodGet {
		return ""
	}
	_, rest, found := strings.Cut(r.URL.Path, "/namespaces/"+g.namespace+"/")
	parts := strings.Split(rest, "/")
	if !found || parts[0] == "leases" {
		return ""
	}
	if len(parts) > 2 {
		return r.Method + " " + parts[0] + "/" + parts[2]
	}
	return r.Method + " " + parts[0]
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, cut := g.note(r)
	if cut {
		drop()
	}
	if name := g.name(r); name == "POST pods/eviction" || name == "DELETE pods" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			drop()
		}
		r = r.WithContext(context.WithValue(r.Context(), victim{}, string(uuid.Find(body))))
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if c == nil {
		g.proxy.ServeHTTP(w, r)
		return
	}
	defer g.handled()
	switch c.fault {
	case killBefore:
		c.kill()
		drop()
	case killAfter:
		g.proxy.ServeHTTP(httptest.NewRecorder(), r)
		c.kill()
		drop()
	case lost:
		g.proxy.ServeHTTP(httptest.NewRecorder(), r)
		drop()
	case conflict:
		refuse(w, http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the latest version and try again")
	case failure:
		refuse(w, http.StatusInternalServerError, "InternalError", "etcdserver: request timed out")
	case sever:
		g.proxy.ServeHTTP(w, r)
	case late:
		g.postpone(r)
		<-r.Context().Done() // the replica goes away without an answer
	}
}

// note counts a request, and returns the charge that it meets.
func (g *gateway) note(r *http.Request) (c *charge, cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := g.name(r)
	if name == "" {
		return nil, g.severed && strings.Contains(r.URL.Path, "/leases")
	}
	g.seen, g.latest = append(g.seen, name), time.Now()
	if g.armed == nil || !g.armed.match(name) {
		return nil, false
	}
	if g.armed.nth--; g.armed.nth > 0 {
		return nil, false
	}
	c, g.armed, g.struck, g.faulty = g.armed, nil, name, true
	g.severed = g.severed || c.fault == sever || c.fault == late
	return c, false
}

// handled notes that the fault of a request has happened.
func (g *gateway) handled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faulty, g.latest = false, time.Now()
}

// arm has the next request that fits meet a fault.
func (g *gateway) arm(c charge) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed, g.struck = &c, ""
}

// met is the request that the last charge met, or "".
func (g *gateway) met() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.struck
}

// writes are all that there were.
func (g *gateway) writes() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.seen...)
}

// ended are the UIDs of the pods that the API server agreed to end, as often as it did.
func (g *gateway) ended() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.killed...)
}

// still is nil once nothing was written for a moment, and no fault is under way.
func (g *gateway) still() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ago := time.Since(g.latest); g.faulty || ago < 400*time.Millisecond {
		return fmt.Errorf("the last write was %s ago", ago)
	}
	return nil
}

// postpone keeps a request for deliver.
func (g *gateway) postpone(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		drop()
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delayed = func() int {
		answer := httptest.NewRecorder()
		g.proxy.ServeHTTP(answer, again)
		return answer.Code
	}
}

// deliver sends on what is late, and returns the status that the API server has for it.
func (g *gateway) deliver() int {
	g.mu.Lock()
	send := g.delayed
	g.mu.Unlock()
	if send == nil {
		return 0
	}
	return send()
}

// refuse responds as the API server does.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}
