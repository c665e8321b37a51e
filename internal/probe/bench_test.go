// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// BenchmarkTCPProbe is one probe of a listener on loopback, which costs as much again.
func BenchmarkTCPProbe(b *testing.B) {
	port, stop := listen(b, func(net.Conn) {})
	defer stop()
	benchmark(b, standard, port)
}

// BenchmarkHTTPProbe includes a server that reads and answers in the cheapest way.
func BenchmarkHTTPProbe(b *testing.B) {
	buffer := make([]byte, 4096)
	port, stop := listen(b, func(conn net.Conn) {
		_, _ = conn.Read(buffer)
		_, _ = io.WriteString(conn, ok)
	})
	defer stop()
	benchmark(b, getting(common.HTTPGetAction{}, nil, nil), port)
}

// BenchmarkStepsProbe includes a server that reads and answers in the cheapest way, twice.
func BenchmarkStepsProbe(b *testing.B) {
	port, stop := listen(b, master())
	defer stop()
	benchmark(b, askingForRole(b), port)
}

func askingForRole(b *testing.B) Check {
	b.Helper()
	return stepping(b, `{tcpSocket: {steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}, expect: +OK}, {send: 'ROLE\r\n', expect: master}]}}`, "s3cret")
}

// master is a server that responds in the cheapest way, to one connection at a time.
func master() func(net.Conn) {
	buffer := make([]byte, 4096)
	return func(conn net.Conn) {
		for _, answer := range []string{"+OK\r\n", "$6\r\nmaster\r\n"} {
			_, _ = conn.Read(buffer)
			_, _ = io.WriteString(conn, answer)
		}
	}
}

// BenchmarkTwoThousandAddresses is a Prober in real time: 2,000 addresses, each checked every 10 s. It includes the
// server.
func BenchmarkTwoThousandAddresses(b *testing.B) {
	const addresses, warmUp, window = 2000, 10 * time.Second, 30 * time.Second
	for name, side := range map[string]struct {
		check Check
		serve func(net.Conn)
	}{
		"TCP":   {standard, func(net.Conn) {}},
		"steps": {askingForRole(b), master()},
	} {
		b.Run(name, func(b *testing.B) {
			var served atomic.Int64
			port, stop := listen(b, func(conn net.Conn) {
				side.serve(conn)
				served.Add(1)
			})
			defer stop()
			w := &network{}
			p := New(Options{Dial: func(ctx context.Context, to egress.Query) (net.Conn, error) {
				to.IP = outside
				return w.dial(ctx, to)
			}})
			targets := make([]Target, 0, addresses)
			for i := range addresses {
				targets = append(targets, Target{IP: ip(i), Port: port, Seed: &Seed{State: networkingv1.AddressHealthy}})
			}
			for i := 0; i < addresses; i += 5 {
				p.Set(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("es-", i)}, side.check, targets[i:i+5])
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx) }()
			for b.Loop() {
				time.Sleep(warmUp)
				began, count, used := time.Now(), served.Load(), processor()
				time.Sleep(window)
				took := time.Since(began).Seconds()
				b.ReportMetric((processor()-used).Seconds()/took, "cores")
				b.ReportMetric(float64(served.Load()-count)/took, "checks/s")
			}
			cancel()
			if err := <-ended; err != nil {
				b.Error(err)
			}
		})
	}
}

// processor is the time of one that the process has used.
func processor() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkGRPCProbe includes grpc-go's server.
func BenchmarkGRPCProbe(b *testing.B) {
	port, stop := serve(b, withHealth(healthv1.HealthCheckResponse_SERVING))
	defer stop()
	benchmark(b, calling(common.GRPCAction{}, nil, nil), port)
}

func benchmark(b *testing.B, c Check, port uint16) {
	b.Helper()
	w := &network{}
	a, q := checker{dial: w.dial}, newCheckPlan(&c)
	at := dialTarget{Query: egress.Query{IP: outside, Port: port}}
	before := processor()
	b.ReportAllocs()
	for b.Loop() {
		if got := a.check(b.Context(), q, at, ample); got != connected {
			b.Fatal(got.reason())
		}
	}
	b.ReportMetric(float64((processor()-before).Microseconds())/float64(b.N), "cpu-us/op")
}

// many sets 10,000 ExternalServices of 5 targets each.
func many(p *Prober) {
	for i := range 10_000 {
		targets := make([]Target, 5)
		for j := range targets {
			targets[j] = to(i*5 + j)
			targets[j].Seed = &Seed{State: networkingv1.AddressHealthy}
		}
		p.Set(types.NamespacedName{Namespace: fmt.Sprint("team-", i%100), Name: fmt.Sprint("es-", i)}, standard, targets)
	}
}

// BenchmarkMemoryPerTarget counts the queue, and the object and check that five targets share.
func BenchmarkMemoryPerTarget(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := New(Options{Dial: (&network{}).dial})
		many(p)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(p.queue.Len()), "B/target")
	}
}

// BenchmarkSetUnchanged measures a reconcile that finds nothing new.
func BenchmarkSetUnchanged(b *testing.B) {
	p := New(Options{Dial: (&network{}).dial})
	many(p)
	targets := []Target{to(0), to(1), to(2), to(3), to(4)}
	b.ReportAllocs()
	for b.Loop() {
		p.Set(types.NamespacedName{Namespace: "team-0", Name: "es-0"}, standard, targets)
	}
}
