// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestWarningsNameTheFieldOnceAndAreNotRepeated(t *testing.T) {
	obj := full(t)
	obj.Spec.Triggers[2].Probe.TLS.InsecureSkipVerify = ptr.To(true)
	obj.Spec.Verification.Probes[0].TLS.InsecureSkipVerify = ptr.To(true)
	obj.Spec.Verification.Probes[1].Host = "shop.shop.svc.cluster.local"
	obj.Spec.Strategy.Evict.MaxUnavailable = ptr.To(intstr.FromString("0%"))
	obj.Spec.Concurrency.MaxTargets = ptr.To(intstr.FromInt32(0))
	want := []string{
		"spec.triggers[2].probe.tls.insecureSkipVerify: the check accepts any certificate",
		"spec.triggers[2].probe.tls.caSecretName: has no effect with insecureSkipVerify",
		"spec.verification.probes[0].tls.insecureSkipVerify: the check accepts any certificate",
		"spec.verification.probes[0].tls.caSecretName: has no effect with insecureSkipVerify",
		"spec.verification.probes[1].host: shop.shop.svc.cluster.local resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without that no request can be sent, and the restart fails",
		"spec.strategy.evict.maxUnavailable: 0% never evicts a pod; use spec.suspend to pause",
		"spec.concurrency.maxTargets: 0 never restarts a target; use spec.suspend to pause",
	}
	if diff := cmp.Diff(want, Warnings(obj, nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, Warnings(obj, full(t))); diff != "" {
		t.Errorf("on update (-want +got)\n%s", diff)
	}
	if got := Warnings(obj, obj); got != nil {
		t.Errorf("nothing new: %v", got)
	}
}

func TestSchedulesOutsideTheWindowsAreWarnedOf(t *testing.T) {
	window := func(cron common.Cron, duration common.Duration) []common.Window {
		return []common.Window{{Name: "w", Cron: cron, Duration: duration}}
	}
	for name, c := range map[string]struct {
		schedule autorebootv1.ScheduleTrigger
		windows  []common.Window
		warned   bool
	}{
		"no window":               {autorebootv1.ScheduleTrigger{Cron: "0 12 * * *", StartingDeadline: "10m"}, nil, false},
		"no deadline":             {autorebootv1.ScheduleTrigger{Cron: "0 12 * * *"}, window("0 2 * * *", "1h"), false},
		"by day":                  {autorebootv1.ScheduleTrigger{Cron: "0 12 * * *", StartingDeadline: "10m"}, window("0 2 * * *", "1h"), true},
		"until the window":        {autorebootv1.ScheduleTrigger{Cron: "0 12 * * *", StartingDeadline: "15h"}, window("0 2 * * *", "1h"), false},
		"inside":                  {autorebootv1.ScheduleTrigger{Cron: "30 2 * * *", StartingDeadline: "10m"}, window("0 2 * * *", "1h"), false},
		"in the zone":             {autorebootv1.ScheduleTrigger{Cron: "30 2 * * *", TimeZone: "Asia/Tokyo", StartingDeadline: "10m"}, window("0 2 * * *", "1h"), true},
		"often, and rarely":       {autorebootv1.ScheduleTrigger{Cron: "*/5 * * * *", StartingDeadline: "1m"}, window("0 2 1 1 *", "1h"), false},
		"just before":             {autorebootv1.ScheduleTrigger{Cron: "59 1 * * *", StartingDeadline: "2m"}, window("0 2 * * *", "1h"), false},
		"as late as the deadline": {autorebootv1.ScheduleTrigger{Cron: "59 1 * * *", StartingDeadline: "1m"}, window("0 2 * * *", "1h"), true},
	} {
		obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{Name: "s", Schedule: &c.schedule}}}}
		obj.Spec.Windows = c.windows
		got := Warnings(obj, nil)
		if (len(got) == 1) != c.warned || c.warned && !strings.HasPrefix(got[0], "spec.triggers[0].schedule.cron: windows and blackouts forbid ten runs in a row") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestProbesOfNamesInTheClusterAreWarnedOf(t *testing.T) {
	for name, warned := range map[string]bool{
		"ledger.shop.svc": true, "ledger.shop.svc.cluster.local": true, "10-0-0-1.shop.pod.cluster.local": true, "ledger.shop.svc.example.internal": true,
		"localhost": true, "a.localhost": true,
		"": false, "payments.example.com": false, "svc.example.com": false, "example.svcs": false, "192.0.2.7": false,
	} {
		obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{Name: "up", Probe: &autorebootv1.Probe{Host: ptr.To(name)}}}}}
		got := Warnings(obj, nil)
		if (len(got) == 1) != warned || warned && !strings.HasPrefix(got[0], "spec.triggers[0].probe.host: "+name+" resolves to an address inside the cluster") {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestOverlapsNamesEveryOtherPolicyOnTheSameTarget(t *testing.T) {
	policy := func(namespace, name string, targets ...autorebootv1.Target) autorebootv1.RebootPolicy {
		var p autorebootv1.RebootPolicy
		p.Namespace, p.Name, p.Spec.Targets = namespace, name, targets
		return p
	}
	api := autorebootv1.Target{Kind: "Deployment", Name: "api"}
	apiLater := autorebootv1.Target{Kind: "Deployment", Name: "api", Wave: ptr.To[int32](7)}
	set := autorebootv1.Target{Kind: "StatefulSet", Name: "api"}
	all := autorebootv1.Target{Kind: "Deployment", Selector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"a": "b"}}}
	some := autorebootv1.Target{Kind: "Deployment", Selector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"a": "c"}}}

	windowed := policy("shop", "windowed", apiLater)
	windowed.Spec.Windows = []common.Window{{Name: "nightly", Cron: "0 22 * * *", Duration: "6h"}}
	obj := policy("shop", "mine", api, all)
	got := Overlaps(&obj, []autorebootv1.RebootPolicy{
		obj, policy("other", "elsewhere", api), policy("shop", "set", set, some), windowed, policy("shop", "labels", all),
	})
	want := []string{
		"spec.targets[0]: RebootPolicy windowed restarts Deployment api already; each counts its own cooldown and limit, and their windows differ",
		"spec.targets[1]: RebootPolicy labels restarts every Deployment of this selector already; each counts its own cooldown and limit",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestACronOfADayOfTheMonthOrOfTheWeekIsWarnedOf(t *testing.T) {
	obj := full(t)
	obj.Spec.Calendar = common.Calendar{Windows: []common.Window{{Name: "w", Cron: "0 2 1-7 * 0", Duration: "1h"}}}
	if texts := strings.Join(Warnings(obj, nil), "\n"); !strings.Contains(texts, `spec.windows[0].cron: "0 2 1-7 * 0" matches on these days of the month and also`) {
		t.Error(texts)
	}
}
