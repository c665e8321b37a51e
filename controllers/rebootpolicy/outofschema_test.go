// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The CRD of the cluster may be of another release: it has stored what this one refuses.
func TestWhatTheSchemaRefusesRestartsNothing(t *testing.T) {
	type policy = autorebootv1.RebootPolicy
	port := ptr.To(intstr.FromString("http"))
	cases := map[string]func(*policy){
		"a target without a name": func(p *policy) { p.Spec.Targets[0].Name = "" },
		"a target of nothing":     func(p *policy) { p.Spec.Targets[0] = autorebootv1.Target{} },
		"no target":               func(p *policy) { p.Spec.Targets = nil },
		"another strategy":        func(p *policy) { p.Spec.Strategy = &autorebootv1.Strategy{Type: "Other"} },
		"a gate without a selector": func(p *policy) {
			p.Spec.Gates = []autorebootv1.Gate{{Name: "g", Type: autorebootv1.GateNoPods, NoPods: &autorebootv1.NoPods{}}}
		},
		"a window that has no length": func(p *policy) { p.Spec.Windows = []common.Window{{Name: "w", Cron: "* * * * *", Duration: "0s"}} },
	}
	for _, gate := range []autorebootv1.GateType{
		autorebootv1.GateCondition, autorebootv1.GateNoPods, autorebootv1.GatePrometheusQueryEmpty, "Other", "",
	} {
		cases["a gate without its member: "+string(gate)] = func(p *policy) { p.Spec.Gates = []autorebootv1.Gate{{Name: "g", Type: gate}} }
	}
	for name, trigger := range map[string]autorebootv1.Trigger{
		"CertificateRenewal": {Type: autorebootv1.TriggerCertificateRenewal},
		"Probe":              {Type: autorebootv1.TriggerProbe},
		"Schedule":           {Type: autorebootv1.TriggerSchedule},
		"PodAge":             {Type: autorebootv1.TriggerPodAge},
		"EndpointsChange":    {Type: autorebootv1.TriggerEndpointsChange},
		"another type":       {Type: "Other"},
		"no cron":            {Type: autorebootv1.TriggerSchedule, Schedule: &autorebootv1.ScheduleTrigger{}},
		"no age":             {Type: autorebootv1.TriggerPodAge, PodAge: &autorebootv1.PodAge{Max: "soon"}},
		"no handler":         {Type: autorebootv1.TriggerProbe, Probe: &autorebootv1.Probe{}},
		"no port":            {Type: autorebootv1.TriggerProbe, Probe: &autorebootv1.Probe{Check: common.Check{HTTPGet: &common.HTTPGetAction{}}}},
		"a port of no pod":   {Type: autorebootv1.TriggerProbe, Probe: &autorebootv1.Probe{Host: new("a"), Check: common.Check{TCPSocket: &common.TCPSocketAction{Port: port}}}},
	} {
		trigger.Name = "config"
		cases["a trigger without what it needs: "+name] = func(p *policy) { p.Spec.Triggers = []autorebootv1.Trigger{trigger} }
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config, deployment("api", 2, nil)...)
			s.reconcile()
			s.edit(change)
			s.changeSource("Secret/creds", "hmac:2")
			for range 3 {
				s.reconcile()
				s.advance(time.Hour)
			}
			s.expectActions()
		})
	}
}

func TestNoSpecThatIsStoredEndsTheProcess(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	random := randfill.NewWithSeed(1).NilChance(0.4).NumElements(0, 3).MaxDepth(20)
	for range 100 {
		s.edit(func(p *autorebootv1.RebootPolicy) {
			random.Fill(&p.Spec)
			p.Spec.ServiceAccountName = "" // or else it is refused for its name alone
		})
		s.reconcile()
		s.expectActions()
	}
}
