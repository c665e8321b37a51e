// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// healthy is a Rollout of two pods. Both are of its latest revision.
const healthy = `
metadata: {name: web, namespace: shop, uid: u, generation: 3}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, strategy: {canary: {}}}
status: {observedGeneration: "3", currentPodHash: a, stableRS: a, replicas: 2, updatedReplicas: 2, availableReplicas: 2}
`

// rolloutWith is one, with the members of a spec and a status set.
func rolloutWith(t *testing.T, spec, status string) *argorollouts.Rollout {
	t.Helper()
	var object map[string]any
	for _, part := range []string{healthy, "spec: {" + spec + "}", "status: {" + status + "}"} {
		var members map[string]any
		if err := yaml.Unmarshal([]byte(part), &members); err != nil {
			t.Fatal(err)
		}
		if object == nil {
			object = members
			continue
		}
		for name, of := range members {
			for member, value := range of.(map[string]any) {
				object[name].(map[string]any)[member] = value
			}
		}
	}
	raw, err := yaml.Marshal(object)
	var r argorollouts.Rollout
	if err == nil {
		err = yaml.Unmarshal(raw, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestWhatHoldsARolloutAndWhenItIsComplete(t *testing.T) {
	t.Parallel()
	const paused, degraded = autorebootv1.ReasonPaused, autorebootv1.ReasonDegraded
	for name, test := range map[string]struct {
		spec, status             string
		obstacle, says, evicting string
		complete, updated        bool
	}{
		"healthy":                   {complete: true, updated: true},
		"not available":             {status: "availableReplicas: 1", updated: true},
		"not observed":              {status: `observedGeneration: "2"`},
		"never observed":            {status: `observedGeneration: ""`},
		"at version 0.9":            {status: `observedGeneration: 5f7b9`},
		"not promoted":              {status: "currentPodHash: b"},
		"old pods of a canary":      {status: "replicas: 3"},
		"old pods behind a router":  {spec: "strategy: {canary: {trafficRouting: {nginx: {}}}}", status: "replicas: 3", complete: true, updated: true},
		"old pods of a blue one":    {spec: "strategy: {blueGreen: {}}", status: "replicas: 4, blueGreen: {activeSelector: a}", complete: true, updated: true},
		"the service is of blue":    {spec: "strategy: {blueGreen: {}}", status: "blueGreen: {activeSelector: b}"},
		"restarted":                 {spec: `restartAt: "2026-03-02T14:00:00Z"`, status: `restartedAt: "2026-03-02T14:00:00Z"`, complete: true, updated: true},
		"restarting":                {spec: `restartAt: "2026-03-02T14:00:00Z"`, says: "spec.restartAt is 2026-03-02T14:00:00Z, and status.restartedAt is not"},
		"restarting again":          {spec: `restartAt: "2026-03-02T15:00:00Z"`, status: `restartedAt: "2026-03-02T14:00:00Z"`, says: "15:00"},
		"scaled to zero":            {spec: "replicas: 0", status: "replicas: 0, updatedReplicas: 0, availableReplicas: 0", obstacle: autorebootv1.ReasonScaledToZero, evicting: autorebootv1.ReasonScaledToZero, complete: true, updated: true},
		"paused by its spec":        {spec: "paused: true", obstacle: paused, says: "by its spec.paused", complete: true, updated: true},
		"paused in its strategy":    {status: "currentPodHash: b, pauseConditions: [{reason: CanaryPauseStep}]", obstacle: paused, says: "in its strategy (CanaryPauseStep): promote or abort it", complete: true, updated: true},
		"aborted":                   {status: "currentPodHash: b, abort: true", obstacle: degraded, says: "was aborted", complete: true, updated: true},
		"a spec that is refused":    {status: "conditions: [{type: InvalidSpec, status: 'True', message: no strategy}]", obstacle: degraded, says: "its spec is invalid: no strategy", evicting: degraded, complete: true, updated: true},
		"a spec of another version": {spec: "replicas: many", obstacle: degraded, says: "spec.replicas is of another type than expected", evicting: degraded, complete: true, updated: true},
		"a status of another":       {status: "replicas: many"},
	} {
		r := rolloutWith(t, test.spec, test.status)
		w, evicted := Rollout(r, false), Rollout(r, true)
		if w.Obstacle != test.obstacle || evicted.Obstacle != test.evicting || !strings.Contains(w.ObstacleText+w.Restarting, test.says) {
			t.Errorf("%s: %q %q %q, while it evicts %q", name, w.Obstacle, w.ObstacleText, w.Restarting, evicted.Obstacle)
		}
		if w.Complete != test.complete || w.Updated != test.updated {
			t.Errorf("%s: complete %t, updated %t", name, w.Complete, w.Updated)
		}
	}
}

func TestARolloutPastItsProgressDeadlineIsStalledAndNoObstacle(t *testing.T) {
	t.Parallel()
	w := Rollout(rolloutWith(t, "", `currentPodHash: b, phase: Degraded, conditions: [
		{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}, {type: ReplicaFailure, status: "True", message: exceeded quota}]`), false)
	if !w.Stalled || w.Obstacle != "" || w.Shortage.Message != "exceeded quota" || w.MaxUnavailable != 0 {
		t.Errorf("%+v", w)
	}
}

func TestTheTemplateOfARolloutMayBeThatOfADeployment(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argorollouts.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main"}}
	for name, test := range map[string]struct {
		ref, mistake string
		owner        types.UID
	}{
		"a Deployment":  {"{kind: Deployment, name: web}", "", "d"},
		"none":          {"{kind: Deployment, name: api}", "the pod template is that of Deployment api, which does not exist", ""},
		"a PodTemplate": {"{kind: PodTemplate, name: web}", "the pod template is that of PodTemplate web, which is not read: name the ConfigMaps and Secrets", ""},
	} {
		from := fake.NewClientBuilder().WithScheme(scheme).WithObjects(deployment.DeepCopy(), rolloutWith(t, "selector: null, workloadRef: "+test.ref, "")).Build()
		w, err := Get(t.Context(), from, types.NamespacedName{Namespace: "shop", Name: "web"}, common.WorkloadRollout, false)
		if err != nil || !strings.HasPrefix(w.TemplateMistake, test.mistake) || (test.mistake == "") != (w.TemplateMistake == "") || w.TemplateOwner != test.owner {
			t.Fatalf("%s: %v, %q of %q", name, err, w.TemplateMistake, w.TemplateOwner)
		}
		if test.owner != "" && (len(w.Template.Spec.Containers) != 1 || w.Selector.MatchLabels["app"] != "web") {
			t.Errorf("%s: %+v, %+v", name, w.Template, w.Selector)
		}
	}
}
