// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	monitored "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// The kubelet must reach /healthz, or it restarts the container: any pod may connect to the port and send nothing.
func TestAProbeIsServedWhileThePortIsFullOfConnectionsThatSendNothing(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	_ = free.Close()
	evicted := prometheus.NewCounter(prometheus.CounterOpts{Name: "evicted"})
	server := httpServer{
		name: "probe server", address: at, handler: probes(func() error { return nil }, nil, http.NotFoundHandler()), logger: logr.Discard(), evicted: evicted,
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.run(ctx) }()
	for opened, deadline := 0, time.Now().Add(time.Minute); opened < maxConnections+50 && time.Now().Before(deadline); {
		if conn, err := net.Dial("tcp", at); err == nil {
			opened++
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	for range 3 {
		client := &http.Client{Timeout: 4 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}} // as long as liveness waits
		response, err := client.Get(fmt.Sprintf("http://%s/healthz", at))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("/healthz: %s", response.Status)
		}
	}
	var counted monitored.Metric
	if err := evicted.Write(&counted); err != nil || counted.GetCounter().GetValue() < 50 {
		t.Errorf("%v connections were evicted, %v", counted.GetCounter().GetValue(), err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// controller-runtime's metrics server has no bound of connections, and needs none: the probes do not wait for them.
func TestAProbeIsServedWhileTheMetricsPortHasThreeThousandConnections(t *testing.T) {
	var at [2]string
	for i := range at {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at[i] = free.Addr().String()
		_ = free.Close()
	}
	c := options.Default()
	c.Metrics.BindAddress = at[0]
	metrics, err := metricsServer(c, &rest.Config{Host: "https://127.0.0.1:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	probe := httpServer{name: "probe server", address: at[1], handler: probes(func() error { return nil }, nil, http.NotFoundHandler()), logger: logr.Discard()}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{metrics.run, probe.run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all []net.Conn
	for deadline := time.Now().Add(time.Minute); len(all) < 3000 && time.Now().Before(deadline); {
		if conn, err := net.Dial("tcp", at[0]); err == nil {
			all = append(all, conn)
		}
	}
	slowest := time.Duration(0)
	for range 20 {
		began := time.Now()
		response, err := (&http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + at[1] + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		slowest = max(slowest, time.Since(began))
	}
	runtime.ReadMemStats(&after)
	t.Logf("%d connections, /readyz within %s, %d KiB more in use", len(all), slowest, (after.Sys-before.Sys)>>10)
	for _, conn := range all {
		_ = conn.Close()
	}
	cancel()
	running.Wait()
}
