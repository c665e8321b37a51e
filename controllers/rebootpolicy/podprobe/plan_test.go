// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

func TestWhatCannotBeCheckedSaysWhyAndIsNotAsked(t *testing.T) {
	header := func(name, value string) *autorebootv1.Probe {
		return &autorebootv1.Probe{HTTPGet: &autorebootv1.HTTPGet{Port: 80, Headers: []autorebootv1.HTTPHeader{{Name: "X-Fine", Value: "y"}, {Name: name, Value: value}}}}
	}
	for name, tc := range map[string]struct {
		probe *autorebootv1.Probe
		want  string
	}{
		"a command":                 {&autorebootv1.Probe{Exec: &autorebootv1.Exec{Command: []string{"true"}}}, ExecUnsupported},
		"no probe":                  {nil, Invalid},
		"an empty probe":            {&autorebootv1.Probe{}, Invalid},
		"port 0":                    {&autorebootv1.Probe{TCPSocket: &autorebootv1.TCPSocket{}}, Invalid},
		"port 65536":                {&autorebootv1.Probe{GRPC: &autorebootv1.GRPC{Port: 65536}}, Invalid},
		"a host that is none":       {newProbe(onHost("a\r\nb")), Invalid},
		"minUnhealthy that is none": {newProbe(least("x")), Invalid},
		"Connection":                {header("Connection", "keep-alive"), HeaderRefused},
		"Transfer-Encoding":         {header("transfer-encoding", "chunked"), HeaderRefused},
		"Content-Length":            {header("CONTENT-LENGTH", "5"), HeaderRefused},
		"Upgrade":                   {header("Upgrade", "h2c"), HeaderRefused},
		"Proxy-Authorization":       {header("Proxy-Authorization", "x"), HeaderRefused},
		"User-Agent":                {header("User-Agent", "x"), HeaderRefused},
		"a second header":           {header("X", "y\r\nZ: z"), HeaderRefused},
		"a second header's name":    {header("X: y\r\nZ", "z"), HeaderRefused},
		"a second header, shorter":  {header("X", "y\nZ: z"), HeaderRefused},
		"no name":                   {header("", "z"), HeaderRefused},
		"a host that ends the line": {header("Host", "a\r\nX: y"), HeaderRefused},
		"a host that is a path":     {header("Host", "a/b"), HeaderRefused},
	} {
		t.Run(name, func(t *testing.T) {
			withSuite(t, func(s *suite) {
				s.Set(policy("p"), of(withDefaults(tc.probe), pods(1, 2)))
				s.advance(time.Minute)
				s.expect("after a minute", Result{Checked: 2, Unknown: 2, Unsupported: tc.want})
				if got := s.dialed(); len(got) > 0 {
					t.Errorf("dialed %v", got)
				}
				s.Set(policy("p"), of(newProbe(), pods(1, 2)))
				s.advance(time.Second)
				s.expect("once it is another probe", Result{Checked: 2})
				s.Set(policy("p"), of(withDefaults(tc.probe), pods(1, 2)))
				s.expect("and this one again", Result{Checked: 2, Unknown: 2, Unsupported: tc.want})
			})
		})
	}
}

func TestDefaultsOfAProbe(t *testing.T) {
	duration := func(text string) *common.Duration { return ptr.To(common.Duration(text)) }
	for name, tc := range map[string]struct {
		period, timeout         *common.Duration
		wantPeriod, wantTimeout time.Duration
	}{
		"none":           {nil, nil, 30 * time.Second, 5 * time.Second},
		"a long timeout": {nil, duration("1m"), time.Minute, time.Minute},
		"a short period": {duration("2s"), nil, 2 * time.Second, 2 * time.Second},
		"too short":      {duration("10ms"), duration("1m"), time.Second, time.Second},
		"both":           {duration("1m"), duration("3s"), time.Minute, 3 * time.Second},
	} {
		got := planOf(withDefaults(&autorebootv1.Probe{TCPSocket: &autorebootv1.TCPSocket{Port: 80}, Period: tc.period, Timeout: tc.timeout}))
		if got.Interval != tc.wantPeriod || got.UnhealthyInterval != tc.wantPeriod || got.Timeout != tc.wantTimeout {
			t.Errorf("%s: every %s and %s, for %s; want %s for %s", name, got.Interval, got.UnhealthyInterval, got.Timeout, tc.wantPeriod, tc.wantTimeout)
		}
		if got.HealthyThreshold != 1 || got.UnhealthyThreshold != 5 || got.minUnhealthy != intstr.FromString("50%") || got.unsupported != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMetricsAreThePoliciesOwnAndNameNoObject(t *testing.T) {
	registry := prometheus.NewRegistry()
	New(Options{Registerer: registry})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 6 {
		t.Errorf("%d metrics, want 6", len(families))
	}
	unresolved := false
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "fairlead_rebootpolicy_probe") {
			t.Errorf("%s is not a policy's", family.GetName())
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() != "type" && label.GetName() != "result" {
					t.Errorf("%s has a label %s", family.GetName(), label.GetName())
				}
				unresolved = unresolved || label.GetValue() == probe.HostUnresolved
			}
		}
	}
	if !unresolved {
		t.Error("lookups that fail are not counted")
	}
}

func TestRunNeedsADial(t *testing.T) {
	if err := New(Options{}).Run(t.Context()); err == nil {
		t.Error("it runs without")
	}
}
