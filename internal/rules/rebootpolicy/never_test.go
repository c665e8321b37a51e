// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestWindowsThatNeverOpenAreWarnedOf(t *testing.T) {
	night := common.Window{Schedule: "0 2 * * *", Duration: "2h"}
	for name, c := range map[string]struct {
		windows, blackouts []common.Window
		warned             bool
	}{
		"neither":                      {nil, nil, false},
		"a window in a blackout":       {[]common.Window{night}, []common.Window{{Schedule: "0 1 * * *", Duration: "4h"}}, true},
		"a window that ends later":     {[]common.Window{night}, []common.Window{{Schedule: "0 1 * * *", Duration: "2h"}}, false},
		"no window, always a blackout": {nil, []common.Window{{Schedule: "0 0 * * *", Duration: "24h"}}, true},
		"a blackout that is broken":    {[]common.Window{night}, []common.Window{{Schedule: "never", Duration: "4h"}}, false},
	} {
		obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Windows: c.windows, Blackouts: c.blackouts}}
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

func TestAnEmptySelectorIsToldHowToSelectAll(t *testing.T) {
	obj := &autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{
		{Kind: autorebootv1.TargetDeployment, Selector: &common.LabelSelector{}},
	}}}
	if got := Semantic(obj, nil).ToAggregate(); got == nil || !strings.Contains(got.Error(), "DoesNotExist") {
		t.Errorf("%v", got)
	}
}
