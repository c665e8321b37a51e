// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// reloading is a policy with the annotations of Reloader, and the restart of a workload for the later of two sources.
func reloading(kind common.WorkloadKind) (*autorebootv1.RebootPolicy, restart.Action) {
	p := actingPolicy("")
	p.Spec.Compatibility = autorebootv1.CompatibilityReloader
	p.Status.InFlight = []autorebootv1.InFlightRestart{{ID: "x-1", UID: "u", Triggers: []string{"config"}}}
	written := func(seconds int) *metav1.Time {
		at := metav1.NewTime(epoch.Add(time.Duration(seconds) * time.Second))
		return &at
	}
	p.Status.Targets = []autorebootv1.TargetStatus{
		{UID: "another", TargetInternals: autorebootv1.TargetInternals{Baselines: []autorebootv1.Baseline{{Trigger: "config", Source: "Secret/other", WrittenTime: written(9)}}}},
		{UID: "u", TargetInternals: autorebootv1.TargetInternals{Baselines: []autorebootv1.Baseline{
			{Trigger: "certificate", Source: "Secret/tls", WrittenTime: written(8)},
			{Trigger: "config", Source: "ConfigMap/settings", Fingerprint: "hmac:1", WrittenTime: written(1)},
			{Trigger: "config", Source: "Secret/creds", Fingerprint: "hmac:2", WrittenTime: written(2)},
		}}},
	}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "creds", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "creds"}}}},
		Containers: []corev1.Container{
			{Name: "main"}, {Name: "proxy", VolumeMounts: []corev1.VolumeMount{{Name: "creds"}}},
		},
	}}
	return p, restart.Action{Verb: restart.Annotate, ID: "x-1", Started: epoch, PodCutoff: epoch.Add(time.Second),
		Workload: &restart.Workload{Workload: workloads.Workload{Kind: kind, Name: "api", UID: "u", Template: template}}}
}

const lastReloaded = `{\"type\":\"SECRET\",\"name\":\"creds\",\"namespace\":\"shop\",\"hash\":\"hmac:2\",\"containerRefs\":[\"proxy\"],\"observedAt\":1772460000}`

func TestARestartSaysWhatItIsForAsReloaderDoes(t *testing.T) {
	for _, kind := range []common.WorkloadKind{common.WorkloadDeployment, common.WorkloadRollout} {
		p, action := reloading(kind)
		w := &fakeAPI{}
		if result, err := w.actor().Do(t.Context(), p, action, "41"); err != nil || result.Outcome != restart.Done {
			t.Fatalf("%s: result %+v, error %v", kind, result, err)
		}
		for _, piece := range []string{`"reloader.stakater.com/last-reloaded-from":"` + lastReloaded + `"`, `"autoreboot.fairlead.dev/restart-id":"x-1"`} {
			if !strings.Contains(string(w.applied), piece) || strings.Contains(string(w.applied), "restartAt\"") {
				t.Errorf("%s: %s is not in %s", kind, piece, w.applied)
			}
		}
	}
}

// What asks for no source names none, nor does a policy without the annotations of Reloader.
func TestARestartNamesNoSource(t *testing.T) {
	for name, change := range map[string]func(*autorebootv1.RebootPolicy){
		"no compatibility": func(p *autorebootv1.RebootPolicy) { p.Spec.Compatibility = "" },
		"Wave":             func(p *autorebootv1.RebootPolicy) { p.Spec.Compatibility = autorebootv1.CompatibilityWave },
		"no source":        func(p *autorebootv1.RebootPolicy) { p.Status.InFlight[0].Triggers = []string{"nightly"} },
		"not stored":       func(p *autorebootv1.RebootPolicy) { p.Status.InFlight = nil },
	} {
		p, action := reloading(common.WorkloadDeployment)
		change(p)
		if got := restartAnnotations(p, &action); len(got) != 2 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Reloader restarts a Rollout by a revision, unless its annotation asks for a restart, or the template is that of another object.
func TestWhichRolloutsHaveARevision(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*autorebootv1.RebootPolicy, *restart.Workload)
		want   bool
	}{
		"by default":       {func(*autorebootv1.RebootPolicy, *restart.Workload) {}, true},
		"no compatibility": {func(p *autorebootv1.RebootPolicy, _ *restart.Workload) { p.Spec.Compatibility = "" }, false},
		"a restart": {func(_ *autorebootv1.RebootPolicy, w *restart.Workload) {
			w.Annotations = map[string]string{"reloader.stakater.com/rollout-strategy": "restart"}
		}, false},
		"what Reloader does not know": {func(_ *autorebootv1.RebootPolicy, w *restart.Workload) {
			w.Annotations = map[string]string{"reloader.stakater.com/rollout-strategy": "Restart"}
		}, true},
		"another's template": {func(_ *autorebootv1.RebootPolicy, w *restart.Workload) { w.TemplateOwner = "d" }, false},
		"a Deployment":       {func(_ *autorebootv1.RebootPolicy, w *restart.Workload) { w.Kind = common.WorkloadDeployment }, false},
	} {
		p, action := reloading(common.WorkloadRollout)
		test.change(p, action.Workload)
		if got := rollsOut(p, action.Workload); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
