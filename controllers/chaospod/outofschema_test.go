// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The CRD of the cluster may be of another release: it has stored what this one refuses.
func TestWhatTheSchemaRefusesKillsNothing(t *testing.T) {
	for name, change := range map[string]func(*chaosv1.ChaosPodSpec){
		"no target":                 func(s *chaosv1.ChaosPodSpec) { s.Target = chaosv1.Target{} },
		"a workload without a name": func(s *chaosv1.ChaosPodSpec) { s.Target.Workload.Name = "" },
		"a workload of no kind":     func(s *chaosv1.ChaosPodSpec) { s.Target.Workload.Kind = "" },
		"another action":            func(s *chaosv1.ChaosPodSpec) { s.Action = &chaosv1.Action{Type: ptr.To(chaosv1.ActionType("Other"))} },
		"a forced kill by mistake":  func(s *chaosv1.ChaosPodSpec) { s.Action = &chaosv1.Action{GracePeriodSeconds: new(int64)} },
		"an interval of no time":    func(s *chaosv1.ChaosPodSpec) { s.Schedule = chaosv1.Schedule{Interval: "1ms"} },
		"a count below zero":        func(s *chaosv1.ChaosPodSpec) { s.Count = ptr.To(intstr.FromInt32(-1)) },
		"a count that is no number": func(s *chaosv1.ChaosPodSpec) { s.Count = ptr.To(intstr.FromString("some")) },
		"a limit below zero":        func(s *chaosv1.ChaosPodSpec) { s.Safety = &chaosv1.Safety{MaxPerDay: ptr.To[int32](-1)} },
		"a window without a length": func(s *chaosv1.ChaosPodSpec) {
			s.Windows = []common.Window{{Name: "w", Cron: "* * * * *", Duration: "0s"}}
		},
		"a probe that asks nothing": func(s *chaosv1.ChaosPodSpec) {
			s.Verification = &common.Verification{Probes: []common.VerificationProbe{{Name: "p", Host: "a"}}}
		},
		"ready pods that do not fit": func(s *chaosv1.ChaosPodSpec) { s.Safety = &chaosv1.Safety{MinReady: ptr.To(intstr.FromString("most"))} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, one)
			s.requestRun()
			s.edit(func(object *chaosv1.ChaosPod) {
				change(&object.Spec)
				object.Generation++
				approve(object)
			})
			for range 3 {
				s.reconcile()
			}
			if len(s.killed) > 0 {
				t.Errorf("killed %q", s.killed)
			}
		})
	}
}

func TestNoSpecThatIsStoredEndsTheProcess(t *testing.T) {
	s := newSuite(t, one)
	random := randfill.NewWithSeed(1).NilChance(0.4).NumElements(0, 3).MaxDepth(20)
	for range 100 {
		s.edit(func(object *chaosv1.ChaosPod) {
			random.Fill(&object.Spec)
			object.Spec.Target.Template = nil   // a pod template is the API server's to judge
			object.Spec.ServiceAccountName = "" // or else it is refused for its name alone
			object.Generation++
			approve(object)
		})
		s.reconcile()
		if len(s.killed) > 0 {
			t.Fatalf("killed %q", s.killed)
		}
	}
}
