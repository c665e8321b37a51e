// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"

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
	buffer := make([]byte, 4096)
	port, stop := listen(b, func(conn net.Conn) {
		for _, answer := range []string{"+OK\r\n", "$6\r\nmaster\r\n"} {
			_, _ = conn.Read(buffer)
			_, _ = io.WriteString(conn, answer)
		}
	})
	defer stop()
	benchmark(b, stepping(b, `{tcpSocket: {steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}, expect: +OK}, {send: 'ROLE\r\n', expect: master}]}}`, "s3cret"), port)
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
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ReportAllocs()
	for b.Loop() {
		if got := a.check(b.Context(), q, at, ample); got != connected {
			b.Fatal(got.reason())
		}
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(used)/float64(b.N)/1000, "cpu-us/op")
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
