// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTheServerIsNotReadyBeforeItListens(t *testing.T) {
	s := New(Options{})
	if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "does not listen yet") {
		t.Errorf("before the start Ready is %v", err)
	}
	if s.Addr() != nil {
		t.Errorf("before the start it listens on %s", s.Addr())
	}
}

func TestReadinessFollowsCertificateAndBundle(t *testing.T) {
	registry := prometheus.NewRegistry()
	other := newAuthority(t)
	r := start(t, func(o *Options) { o.Registerer = registry })
	r.waitReady(t)
	if got := value(t, registry, "fairlead_webhook_ready"); got != 1 {
		t.Errorf("the gauge is %v on a ready server", got)
	}

	r.source.publish(other.bundle)
	r.waitNotReady(t, "certificate signed by unknown authority")
	if got := value(t, registry, "fairlead_webhook_ready"); got != 0 {
		t.Errorf("the gauge is %v on a server that cannot be trusted", got)
	}
	r.source.publish(append(other.bundle, r.authority.bundle...))
	r.waitReady(t)

	r.source.serve(r.authority.issue(serverName, -2*time.Hour, -time.Hour))
	r.waitNotReady(t, "expired at")
	r.source.serve(r.authority.issue(serverName, time.Hour, 2*time.Hour))
	r.waitNotReady(t, "valid only from")
	r.source.serve(r.authority.issue("elsewhere.svc", -time.Hour, time.Hour))
	r.waitNotReady(t, "elsewhere.svc")
	r.source.serve(&tls.Certificate{})
	r.waitNotReady(t, "no certificate yet")
	r.source.serve(nil)
	r.waitNotReady(t, "none was issued")
	last := other.valid()
	r.source.serve(last)
	r.waitReady(t)
	leaf, err := leafOf(last)
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, registry, "fairlead_webhook_certificate_expiry_timestamp_seconds"); got != float64(leaf.NotAfter.Unix()) {
		t.Errorf("the certificate expires at %v, the gauge says %v", leaf.NotAfter.Unix(), got)
	}
	if got := value(t, registry, "fairlead_webhook_self_check_failures_total"); got < 2 {
		t.Errorf("%v failed handshakes were counted", got)
	}
}

func TestABundleThatCannotBeReadIsNoBundle(t *testing.T) {
	r := start(t, func(o *Options) { o.CABundle = func() []byte { return []byte("junk\n") } })
	r.waitNotReady(t, "no certificate that can be read")
}

func TestWithoutABundleTheChainIsEnough(t *testing.T) {
	for name, bundle := range map[string]func() []byte{"none": nil, "nil": func() []byte { return nil }} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(o *Options) { o.CABundle = bundle })
			r.waitReady(t)
			r.source.serve(r.authority.issue("elsewhere.svc", -time.Hour, time.Hour))
			r.waitNotReady(t, "elsewhere.svc")
		})
	}
}

func TestAPanickingSourceIsAReason(t *testing.T) {
	r := start(t, func(o *Options) {
		o.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { bomb(); return nil, nil }
	})
	r.waitNotReady(t, "panicked: boom")
}

func TestReadyNoticesExpiryWithoutAHandshake(t *testing.T) {
	s := New(Options{})
	leaf, err := leafOf(newAuthority(t).valid())
	if err != nil {
		t.Fatal(err)
	}
	s.readiness.proven(leaf)
	if err := s.Ready(); err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after the end of the certificate Ready is %v", err)
	}
}

func TestAProofIsRenewedOnlyWhenSomethingChangedOrItIsOld(t *testing.T) {
	now := time.Now()
	p := &proof{chain: [][]byte{{1}, {2}}, bundle: []byte("b"), at: now}
	tests := map[string]struct {
		proof  *proof
		chain  [][]byte
		bundle string
		now    time.Time
		want   bool
	}{
		"same":         {p, [][]byte{{1}, {2}}, "b", now.Add(time.Second), true},
		"none yet":     {nil, nil, "", now, false},
		"leaf":         {p, [][]byte{{3}, {2}}, "b", now, false},
		"intermediate": {p, [][]byte{{1}, {3}}, "b", now, false},
		"bundle":       {p, [][]byte{{1}, {2}}, "c", now, false},
		"old":          {p, [][]byte{{1}, {2}}, "b", now.Add(handshakeEvery), false},
		"clock back":   {p, [][]byte{{1}, {2}}, "b", now.Add(-time.Hour), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.proof.covers(test.chain, []byte(test.bundle), test.now); got != test.want {
				t.Errorf("covers is %t", got)
			}
		})
	}
}

func TestProbesCostNoHandshake(t *testing.T) {
	handshakes := make(chan struct{}, 1000)
	r := start(t, func(o *Options) {
		get := o.Certificate
		o.Certificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.Conn != nil { // a real one
				handshakes <- struct{}{}
			}
			return get(hello)
		}
	})
	r.waitReady(t)
	before := len(handshakes)
	for range 100 {
		if err := r.Ready(); err != nil {
			t.Fatal(err)
		}
	}
	if after := len(handshakes); after != before {
		t.Errorf("100 probes caused %d handshakes", after-before)
	}
}

func TestReadySaysWhy(t *testing.T) {
	if err := New(Options{}).Ready(); err == nil || !strings.Contains(err.Error(), "does not listen yet") {
		t.Errorf("error is %v", err)
	}
	r := start(t, nil)
	r.waitReady(t)
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
}

func TestWaitReadyEndsWithItsContextAndSaysWhy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := New(Options{}).WaitReady(ctx)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errNotStarted) {
		t.Errorf("error is %v", err)
	}
}

// value returns the one value of a family without labels.
func value(t *testing.T, g prometheus.Gatherer, family string) float64 {
	t.Helper()
	return values(t, g, family)[""]
}

// values returns the values of a family by their labels' values, in the order of their names.
func values(t *testing.T, g prometheus.Gatherer, family string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			key := strings.Join(labels, " ")
			out[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}
