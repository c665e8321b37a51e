// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestWindowsThatNeverOpenAreWarnedOf(t *testing.T) {
	night := common.Window{Name: "night", Cron: "0 2 * * *", Duration: "2h"}
	for name, c := range map[string]struct {
		windows, blackouts []common.Window
		warned             bool
	}{
		"neither":                      {nil, nil, false},
		"a window in a blackout":       {[]common.Window{night}, []common.Window{{Name: "dark", Cron: "0 1 * * *", Duration: "4h"}}, true},
		"a window that ends later":     {[]common.Window{night}, []common.Window{{Name: "dark", Cron: "0 1 * * *", Duration: "2h"}}, false},
		"no window, always a blackout": {nil, []common.Window{{Name: "dark", Cron: "0 0 * * *", Duration: "24h"}}, true},
		"a blackout that is broken":    {[]common.Window{night}, []common.Window{{Name: "dark", Cron: "never", Duration: "4h"}}, false},
	} {
		obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{
			Triggers: []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange}},
			Calendar: common.Calendar{Windows: c.windows, Blackouts: c.blackouts},
		}}
		got := Warnings(obj, nil)
		if (len(got) == 1) != c.warned || c.warned && !strings.HasPrefix(got[0], "spec.blackouts: ") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestARestartForASourceThatGoesAwayIsWarnedOf(t *testing.T) {
	for on, warned := range map[autorebootv1.SourceAction]bool{autorebootv1.SourceRestart: true, autorebootv1.SourceIgnore: false} {
		obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{
			{Name: "config", ConfigChange: &autorebootv1.ConfigChange{OnDelete: ptr.To(on)}},
		}}}
		if got := Warnings(obj, nil); (len(got) == 1) != warned {
			t.Errorf("%s: %q", on, got)
		}
	}
}

func TestAnEmptySelectorSelectsEverythingWithAWarningAndNoneSelectsNothing(t *testing.T) {
	all := &common.LabelSelector{}
	obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{
		Targets: []autorebootv1.Target{{Kind: common.WorkloadDeployment, Selector: all}, {Selector: all}, {Kind: common.WorkloadDeployment, Name: "web"}},
		Triggers: []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange, ConfigChange: &autorebootv1.ConfigChange{
			Sources: []autorebootv1.ConfigSource{{Kind: autorebootv1.SourceSecret, Selector: all}},
		}}},
		Gates: []autorebootv1.Gate{{Name: "quiet", Type: autorebootv1.GateNoPods, NoPods: &autorebootv1.NoPods{Selector: all}}},
	}}
	if errs := Validate(obj, nil); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
	want := []string{
		"spec.targets[0].selector: {} selects everything: every Deployment of the namespace is restarted",
		"spec.targets[1].selector: {} selects everything: every Deployment, StatefulSet and DaemonSet of the namespace is restarted",
		"spec.triggers[0].configChange.sources[0].selector: {} selects everything: every Secret of the namespace is watched, those of Kubernetes included",
		"spec.gates[0].noPods.selector: {} selects everything: no restart starts while any pod of the namespace runs, those of the targets included",
	}
	if diff := cmp.Diff(want, Warnings(obj, nil)); diff != "" {
		t.Error(diff)
	}
	var absent *common.LabelSelector
	for selector, matches := range map[*common.LabelSelector]bool{all: true, absent: false} {
		compiled, err := selector.Selector()
		if err != nil || compiled.Matches(k8slabels.Set{"app": "web"}) != matches || compiled.Matches(nil) != matches {
			t.Errorf("%v: %v, %v", selector, compiled, err)
		}
	}
}

func TestAPolicyThatNothingTriggersIsValidAndWarnedOfUnlessItDeclaresADependency(t *testing.T) {
	obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{{Kind: common.WorkloadDeployment, Name: "web"}}}}
	want := []string{"spec.triggers: without any, only the annotation autoreboot.fairlead.dev/restart-now restarts a target"}
	if errs, got := Validate(obj, nil), Warnings(obj, nil); len(errs) > 0 || !cmp.Equal(want, got) {
		t.Errorf("%v, %q", errs, got)
	}
	obj.Spec.Gates = []autorebootv1.Gate{{Name: "db", Type: autorebootv1.GateCondition, Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}}}
	if errs, got := Validate(obj, nil), Warnings(obj, nil); len(errs)+len(got) > 0 {
		t.Errorf("%v, %q", errs, got)
	}
}
