// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// suite is a Prober in a synctest bubble. A test sets which addresses are down.
type suite struct {
	*Prober

	t     *testing.T
	began time.Time

	mu       sync.Mutex
	down     map[netip.Addr]error
	hangs    map[netip.Addr]bool
	serves   func(port uint16, r *http.Request) bool // nil serves all
	probes   []string
	notified []string
}

// runSuite runs a prober in a synctest bubble. Every random number is the given one.
func runSuite(t *testing.T, random float64, o Options, act func(*suite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &suite{t: t, began: time.Now(), down: map[netip.Addr]error{}, hangs: map[netip.Addr]bool{}}
		o.Dial, o.Rand = s.dial, func() float64 { return random }
		o.Notify = func(key types.NamespacedName) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notified = append(s.notified, key.Name)
		}
		s.Prober = New(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		act(s)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (s *suite) dial(ctx context.Context, to egress.Query) (net.Conn, error) {
	s.mu.Lock()
	s.probes = append(s.probes, fmt.Sprintf("%s %s:%d", time.Since(s.began), to.IP, to.Port))
	err, hangs, serves := s.down[to.IP], s.hangs[to.IP], s.serves
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if serves != nil && !serves(to.Port, nil) {
		return nil, syscall.ECONNREFUSED
	}
	here, there := net.Pipe()
	go serveHTTP(there, func(r *http.Request) bool { return serves == nil || serves(to.Port, r) })
	return here, nil
}

// serveHTTP responds to one request, unless the probe sends none.
func serveHTTP(conn net.Conn, serves func(*http.Request) bool) {
	defer func() { _ = conn.Close() }()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	switch {
	case err != nil:
	case serves(r):
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	default:
		_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	}
}

// advance lets the bubble's clock run.
func (s *suite) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// fail has addresses fail from now on, or answer again where err is nil.
func (s *suite) fail(err error, all ...netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ip := range all {
		s.down[ip] = err
	}
}

// since returns what was noted in a list, and empties it.
func (s *suite) since(list *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *list
	*list = nil
	return all
}

func (s *suite) want(what string, list *[]string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.since(list)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// states returns the health of an object as a letter for each target.
func states(all []Health) string {
	var b strings.Builder
	for _, h := range all {
		b.WriteByte(h.State[0])
	}
	return b.String()
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func ip(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}) }

func to(n int) Target { return Target{IP: ip(n), Port: 5432} }

func seeded(n int, s State) Target {
	t := to(n)
	t.Seed = &Seed{State: s, Since: time.Unix(1000, 0)}
	return t
}

// withDefaults returns a check with the defaults of an ExternalService, whose intervals have no jitter.
func withDefaults(c common.Check, roots []byte) Check {
	rules.DefaultCheck(&c, rules.HealthCheckDefaults)
	return Check{Check: c, UnhealthyInterval: 30 * time.Second, Secrets: Secrets{RootPEM: roots}}
}

var standard = withDefaults(common.Check{TCPSocket: &common.TCPSocketAction{}}, nil)

// every returns a check by TCP with one interval and timeout.
func every(interval common.Duration, toHealthy, toUnhealthy int32) Check {
	c := withDefaults(common.Check{TCPSocket: &common.TCPSocketAction{}, Interval: &interval, Timeout: &interval,
		SuccessThreshold: &toHealthy, FailureThreshold: &toUnhealthy}, nil)
	c.UnhealthyInterval = 0
	return c
}

func getting(h common.HTTPGetAction, t *common.CheckTLS, roots []byte) Check {
	return withDefaults(*(&common.Check{HTTPGet: &h, TLS: t}).DeepCopy(), roots)
}

func calling(g common.GRPCAction, t *common.CheckTLS, roots []byte) Check {
	return withDefaults(*(&common.Check{GRPC: &g, TLS: t}).DeepCopy(), roots)
}
