// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// many are the wants of a policy of so many workloads of 50 pods each.
func many(policy, workloads int) []Want {
	p := newProbe()
	var all []Want
	for i := range workloads {
		w := policy*workloads + i
		var numbers []int
		for n := range 50 {
			numbers = append(numbers, w*50+n)
		}
		all = append(all, Want{Trigger: "wedged", Workload: types.UID(fmt.Sprint("w-", w)), Probe: p, Pods: pods(numbers...)})
	}
	return all
}

// TestFiveThousandPodsThatHangAreBounded has every check hang, of 10 policies in as many namespaces.
func TestFiveThousandPodsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, total atomic.Int64
		c := New(Options{Workers: 100, Dial: func(ctx context.Context, _ egress.Query) (net.Conn, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			total.Add(1)
			defer now.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		for i := range 10 {
			c.Set(types.NamespacedName{Namespace: fmt.Sprint("team-", i), Name: "p"}, many(i, 10))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		if most.Load() > 100 {
			t.Errorf("%d at once, want 100 at most", most.Load())
		}
		// Each takes 2s: 100 workers do 50 a second, less those that are kept free for another namespace.
		if total.Load() < 25_000 {
			t.Errorf("%d checks in ten minutes, want nearly 30,000", total.Load())
		}
		if now.Load() != 0 {
			t.Errorf("%d are left", now.Load())
		}
	})
}

func TestFiveThousandPodsThatAnswerAreCheckedEveryPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var total atomic.Int64
		c := New(Options{Dial: func(context.Context, egress.Query) (net.Conn, error) {
			total.Add(1)
			here, there := net.Pipe()
			_ = there.Close()
			return here, nil
		}})
		for i := range 10 {
			c.Set(types.NamespacedName{Namespace: fmt.Sprint("team-", i), Name: "p"}, many(i, 10))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		if got := total.Load(); got < 29_000 || got > 31_000 {
			t.Errorf("%d checks in a minute, want 30,000", got)
		}
		if got := c.Result(types.NamespacedName{Namespace: "team-3", Name: "p"}, "wedged", "w-37"); got != (Result{Checked: 50}) {
			t.Errorf("%+v, want 50 healthy pods", got)
		}
	})
}

// BenchmarkSetUnchanged measures a reconcile that finds nothing new among 5,000 pods.
func BenchmarkSetUnchanged(b *testing.B) {
	c := New(Options{Dial: func(context.Context, egress.Query) (net.Conn, error) { return nil, net.ErrClosed }})
	wants := many(0, 100)
	b.ReportAllocs()
	for b.Loop() {
		c.Set(policy("p"), wants)
	}
}

// BenchmarkResult is that of one workload of 50 pods.
func BenchmarkResult(b *testing.B) {
	c := New(Options{Dial: func(context.Context, egress.Query) (net.Conn, error) { return nil, net.ErrClosed }})
	c.Set(policy("p"), many(0, 100))
	b.ReportAllocs()
	for b.Loop() {
		c.Result(policy("p"), "wedged", "w-7")
	}
}
