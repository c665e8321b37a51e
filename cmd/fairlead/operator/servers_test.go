// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	monitored "github.com/prometheus/client_model/go"
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
