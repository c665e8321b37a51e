// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

func TestWhatCannotBeCheckedSaysWhyAndIsNotAsked(t *testing.T) {
	withSuite(t, func(s *suite) {
		unsupported := of(newProbe(), pods(1, 2))
		unsupported[0].Unsupported = "PortNotFound"
		s.Set(policy("p"), unsupported)
		s.advance(time.Minute)
		s.expect("after a minute", Result{Checked: 2, Unknown: 2, Unsupported: "PortNotFound"})
		if got := s.dialed(); len(got) > 0 {
			t.Errorf("dialed %v", got)
		}
		s.Set(policy("p"), of(newProbe(), pods(1, 2)))
		s.advance(time.Second)
		s.expect("once it can be", Result{Checked: 2})
		s.Set(policy("p"), unsupported)
		s.expect("and then not again", Result{Checked: 2, Unknown: 2, Unsupported: "PortNotFound"})
	})
}

func TestAPodWithoutThePortIsUnknown(t *testing.T) {
	withSuite(t, func(s *suite) {
		all := pods(1, 2)
		all[1].Port = 0
		s.Set(policy("p"), of(newProbe(), all))
		s.advance(time.Minute)
		s.expect("after a minute", Result{Checked: 2, Unknown: 1})
	})
}

func TestWithoutTLSHTTPSIsNotVerifiedAndWithItIs(t *testing.T) {
	probed := func(change func(*autorebootv1.Probe)) *common.CheckTLS {
		p := once(443, getTLS)
		change(p)
		return checkOf(withDefaults(p), probe.Secrets{}).TLS
	}
	if got := probed(func(*autorebootv1.Probe) {}); got == nil || !*got.InsecureSkipVerify {
		t.Errorf("without tls: %+v", got)
	}
	if got := probed(func(p *autorebootv1.Probe) { p.TLS = &common.CheckTLS{} }); got == nil || *got.InsecureSkipVerify {
		t.Errorf("with tls: %+v", got)
	}
	if got := probed(func(p *autorebootv1.Probe) { p.HTTPGet.Scheme = ptr.To(common.SchemeHTTP) }); got != nil {
		t.Errorf("plain HTTP: %+v", got)
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
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "kind" {
					if label.GetValue() != "RebootPolicy" {
						t.Errorf("%s is of kind %s", family.GetName(), label.GetValue())
					}
				} else if label.GetName() != "type" && label.GetName() != "result" {
					t.Errorf("%s has a label %s", family.GetName(), label.GetName())
				}
				unresolved = unresolved || label.GetValue() == common.ReasonHostUnresolved
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
