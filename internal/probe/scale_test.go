// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// TestHalfAMinuteOf50000TargetsAt10Seconds simulates clock and network: a tenth of the targets
// takes half a second, a hundredth hangs until the timeout.
func TestHalfAMinuteOf50000TargetsAt10Seconds(t *testing.T) {
	registry := prometheus.NewRegistry()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Registerer: registry, Dial: func(ctx context.Context, q egress.Query) (net.Conn, error) {
			wait := 20 * time.Millisecond
			switch last := q.IP.As4()[3]; {
			case last%100 == 0:
				wait = time.Hour
			case last%10 == 0:
				wait = 500 * time.Millisecond
			}
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-timer.C:
				return nothing{}, nil
			}
		}})
		many(p)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var ended uint64
	for _, family := range families {
		switch family.GetName() {
		case "fairlead_probe_late_total":
			if late := family.GetMetric()[0].GetCounter().GetValue(); late != 0 {
				t.Errorf("%v probes started late", late)
			}
		case "fairlead_probe_duration_seconds":
			for _, metric := range family.GetMetric() {
				ended += metric.GetHistogram().GetSampleCount()
			}
		}
	}
	// Those under way at the end do not count.
	if ended < 140_000 || ended > 150_000 {
		t.Errorf("%d probes ended, want nearly 150,000", ended)
	}
	t.Logf("%d probes, simulated in %s", ended, time.Since(began))
}

// nothing is a connection that can only be closed.
type nothing struct{ net.Conn }

func (nothing) Close() error { return nil }
