// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

func chaosPod() *chaosv1.ChaosPod {
	return &chaosv1.ChaosPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments"},
		Spec: chaosv1.ChaosPodSpec{
			ServiceAccountName: "killer",
			Target:             chaosv1.Target{Workload: &common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}},
			Schedule:           chaosv1.Schedule{Cron: "0 9 * * *"},
			Calendar: common.Calendar{
				Windows:   []common.Window{{Name: "day", Cron: "0 9 * * *", Duration: "7h"}, {Name: "night", Cron: "0 3 * * *", Duration: "1h"}},
				Blackouts: []common.Window{{Name: "christmas", Cron: "0 0 24 12 *", Duration: "72h"}},
			},
		},
	}
}

func TestAnApprovalIsOfAllThatDecidesWhichPodsDie(t *testing.T) {
	type spec = chaosv1.ChaosPodSpec
	template := func(image string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
	}
	for name, test := range map[string]struct {
		change func(*spec)
		holds  bool
	}{
		"nothing":          {func(*spec) {}, true},
		"suspend, dryRun":  {func(s *spec) { s.Suspend, s.DryRun = ptr.To(true), ptr.To(false) }, true},
		"name of a window": {func(s *spec) { s.Windows[0].Name = "office" }, true},
		"order of windows": {func(s *spec) { s.Windows[0], s.Windows[1] = s.Windows[1], s.Windows[0] }, true},
		"defaults":         {func(s *spec) { p := &chaosv1.ChaosPod{Spec: *s}; chaospod.Default(p); *s = p.Spec }, true},
		"account":          {func(s *spec) { s.ServiceAccountName = "" }, false},
		"target":           {func(s *spec) { s.Target.Workload.Name = "db" }, false},
		"selector":         {func(s *spec) { s.Target = chaosv1.Target{Selector: labeled("api")} }, false},
		"template":         {func(s *spec) { s.Target = chaosv1.Target{Template: template("pause")} }, false},
		"schedule":         {func(s *spec) { s.Schedule.Cron = "* * * * *" }, false},
		"action":           {func(s *spec) { s.Action = &chaosv1.Action{Type: ptr.To(chaosv1.ActionDelete)} }, false},
		"grace period":     {func(s *spec) { s.Action = &chaosv1.Action{GracePeriodSeconds: ptr.To[int64](1)} }, false},
		"count":            {func(s *spec) { s.Count = ptr.To(intstr.FromInt32(2)) }, false},
		"filter":           {func(s *spec) { s.Filter = &chaosv1.Filter{MinAge: ptr.To(common.Duration("1s"))} }, false},
		"minReady":         {func(s *spec) { s.Safety = &chaosv1.Safety{MinReady: ptr.To(intstr.FromInt32(0))} }, false},
		"maxPerDay":        {func(s *spec) { s.Safety = &chaosv1.Safety{MaxPerDay: ptr.To[int32](9)} }, false},
		"a window less":    {func(s *spec) { s.Windows = s.Windows[:1] }, false},
		"no blackout":      {func(s *spec) { s.Blackouts = nil }, false},
		"onFailure": {func(s *spec) {
			s.Verification = &common.Verification{OnFailure: ptr.To(common.FailureContinue)}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := chaosPod()
			p.Annotations = map[string]string{common.ApprovedByAnnotation: Value("ann", ChaosPodDigest(&p.Spec))}
			if test.change(&p.Spec); ChaosPodApproved(p) != test.holds {
				t.Errorf("approved: %t, want %t", !test.holds, test.holds)
			}
			if ChaosPodApproved(p, "shop") {
				t.Error("approved where the webhooks are not called")
			}
		})
	}
	one, other := chaosPod(), chaosPod()
	one.Spec.Target, other.Spec.Target = chaosv1.Target{Template: template("a")}, chaosv1.Target{Template: template("b")}
	if ChaosPodDigest(&one.Spec) == ChaosPodDigest(&other.Spec) {
		t.Error("two templates have one digest")
	}
	if ChaosPodApproved(chaosPod()) {
		t.Error("approved without an approval")
	}
}

// TestADigestOfAChaosPodOutlivesVersions has a digest that an earlier version has written.
func TestADigestOfAChaosPodOutlivesVersions(t *testing.T) {
	const written = "sha256:202cf5016c934277fa51ef8c433c5209756ca54497bab0441e40a32cc238e362"
	if got := ChaosPodDigest(&chaosPod().Spec); got != written {
		t.Errorf("the digest is %s, and was %s", got, written)
	}
}
