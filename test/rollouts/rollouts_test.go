// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// The CRDs of Argo Rollouts come while the operator runs, and go again: each is noticed, and nothing else is held up by it.
func TestRollouts(t *testing.T) {
	s := newSuite(t)
	s.secret("first")
	s.Make(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: beside, labels: {app: beside}}, spec: {
		selector: {matchLabels: {app: beside}}, template: {metadata: {labels: {app: beside}},
		spec: {containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}]}]}}}}`)
	s.policy("mixed", "{targets: [{kind: Deployment, name: beside}, {group: argoproj.io, selector: {}}]}")
	s.says("mixed", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound,
		"the API server does not serve Rollouts (argoproj.io/v1alpha1): install Argo Rollouts, or remove the targets with group argoproj.io")
	s.Eventually(func() error { return available(s.pods("beside")) })
	settle()
	s.secret("second")
	if history := s.ended("mixed", 1); history[0].Result != autorebootv1.ResultSucceeded || history[0].Target.Group != "" {
		t.Errorf("the Deployment beside Rollouts that are not served: %s", framework.Text(history))
	}

	s.Must(s.DefineRollouts(t.Context()))
	_, err := s.StartArgoRollouts(t.Context())
	s.Must(err)
	s.run(rollout("web", plain))
	s.watching("mixed", 2)
	t.Run("served", func(t *testing.T) {
		for name, test := range map[string]func(*suite){
			"a change restarts once":     aChangeRestartsOnce,
			"a paused strategy holds":    aPausedStrategyHolds,
			"an aborted revision holds":  anAbortedRevisionHolds,
			"a restart by hand":          aRestartByHand,
			"a restart that is reverted": aRestartThatIsReverted,
			"a deletion in the middle":   aDeletionInTheMiddle,
			"no pods":                    noPods,
			"a template of a Deployment": aTemplateOfADeployment,
			"annotations":                annotations,
			"a policy of the cluster":    aPolicyOfTheCluster,
			"the views of both versions": bothVersions,
			"rights of a writer":         rights,
			"chaos":                      chaos,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newSuite(t))
			})
		}
	})

	settle()
	for _, crd := range []string{"rollouts", "experiments", "analysisruns", "analysistemplates", "clusteranalysistemplates"} {
		s.Delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd+".argoproj.io")
	}
	s.says("mixed", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound, "the API server does not serve Rollouts")
	s.secret("third")
	s.shows("mixed", func(st *autorebootv1.RebootPolicyStatus) error {
		if len(st.InFlight) > 0 || !slices.ContainsFunc(st.History, func(r autorebootv1.RestartRecord) bool {
			return r.Target.Name == "beside" && r.Result == autorebootv1.ResultSucceeded && r.ID != st.History[len(st.History)-1].ID
		}) {
			return fmt.Errorf("want another restart of the Deployment")
		}
		return nil
	})
}

// aChangeRestartsOnce: by spec.restartAt, without a revision, and with both strategies.
func aChangeRestartsOnce(s *suite) {
	s.secret("first")
	s.Make("{apiVersion: v1, kind: Service, metadata: {name: active}, spec: {selector: {app: blue}, ports: [{port: 80}]}}")
	s.run(rollout("web", plain+", replicas: 2"), rollout("blue", "strategy: {blueGreen: {activeService: active}}"))
	before := map[string][]string{"web": names(s, "web"), "blue": names(s, "blue")}
	generation := map[string]int64{"web": s.read("web").GetGeneration(), "blue": s.read("blue").GetGeneration()}
	s.policy("p", target("web", "blue"))
	s.watching("p", 2)
	s.secret("second")
	s.succeeded("p", 2)
	for name, were := range before {
		o := s.read(name)
		if text(o, "spec", "restartAt") == "" || text(o, "status", "restartedAt") != text(o, "spec", "restartAt") {
			s.Errorf("%s: restartAt %q, restartedAt %q", name, text(o, "spec", "restartAt"), text(o, "status", "restartedAt"))
		}
		if o.GetGeneration() != generation[name]+1 || o.GetAnnotations()["rollout.argoproj.io/revision"] != "1" {
			s.Errorf("%s is at generation %d and %v, want one write and no revision", name, o.GetGeneration(), o.GetAnnotations())
		}
		for _, pod := range names(s, name) {
			if slices.Contains(were, pod) {
				s.Errorf("%s: pod %s was not restarted", name, pod)
			}
		}
		if !slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
			return f.Manager == "fairlead-restart" && f.Operation == metav1.ManagedFieldsOperationApply && string(f.FieldsV1.GetRawBytes()) == `{"f:spec":{"f:restartAt":{}}}`
		}) {
			s.Errorf("%s: fields of %s", name, framework.Text(o.GetManagedFields()))
		}
	}
	s.Tells("Rollout", "web", "RestartStarted", 1)
}

func aPausedStrategyHolds(s *suite) {
	s.secret("first")
	s.run(rollout("steps", stepwise+", replicas: 2"), rollout("paused", plain))
	s.Merge(argo, "Rollout", "steps", "{spec: {template: {metadata: {annotations: {revision: two}}}}}")
	s.Merge(argo, "Rollout", "paused", "{spec: {paused: true}}")
	s.phase("steps", "Paused")
	s.policy("p", target("steps", "paused"))
	s.watching("p", 2)
	settle()
	s.secret("second")
	for name, pieces := range map[string]string{
		"steps":  "the workload is Paused in its strategy (CanaryPauseStep): promote or abort it",
		"paused": "the workload is Paused by its spec.paused",
	} {
		s.shows("p", func(st *autorebootv1.RebootPolicyStatus) error {
			for _, t := range st.Targets {
				if t.Name == name && t.Pending != nil && t.Pending.Reason == autorebootv1.ReasonPaused {
					return nil
				}
			}
			return fmt.Errorf("want %s to wait for %s", name, autorebootv1.ReasonPaused)
		})
		s.Eventually(func() error {
			for _, event := range s.Told("RebootPolicy", "p")["RestartWaiting"] {
				if framework.Holds(event.Note, "Rollout "+name, pieces) == nil {
					return nil
				}
			}
			return fmt.Errorf("no event says %q", pieces)
		})
		if at := text(s.read(name), "spec", "restartAt"); at != "" {
			s.Errorf("%s has restartAt %s", name, at)
		}
	}
	s.Merge(argo, "Rollout", "paused", "{spec: {paused: false}}")
	s.succeeded("p", 1)
}

func anAbortedRevisionHolds(s *suite) {
	s.secret("first")
	s.run(rollout("web", stepwise))
	s.Merge(argo, "Rollout", "web", "{spec: {template: {metadata: {annotations: {revision: two}}}}}")
	s.phase("web", "Paused")
	s.Eventually(func() error { // the controller writes the status as well
		o := s.read("web")
		s.Must(unstructured.SetNestedField(o.Object, true, "status", "abort"))
		return s.Client.Status().Update(s.Context(), o)
	})
	s.phase("web", "Degraded")
	s.policy("p", target("web"))
	s.watching("p", 1)
	settle()
	s.secret("second")
	s.says("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonDegraded,
		"the workload is Degraded, since its latest revision was aborted: retry it, or set the pod template back")
	s.Merge(argo, "Rollout", "web", "{spec: {template: {metadata: {annotations: {revision: null}}}}}")
	s.succeeded("p", 1)
}

// aRestartByHand is none of ours for pods that have the change already, and holds one while it goes on.
func aRestartByHand(s *suite) {
	s.secret("first")
	s.run(rollout("web", plain))
	s.policy("p", target("web")[:len(target("web"))-1]+", debounce: {quietPeriod: 10s, maxDelay: 10s}}")
	s.watching("p", 1)
	s.secret("second")
	settle()
	at := time.Now().UTC().Format(time.RFC3339)
	s.Merge(argo, "Rollout", "web", "{spec: {restartAt: "+at+"}}")
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultSuperseded {
		s.Errorf("want %s: %s", autorebootv1.ResultSuperseded, framework.Text(history))
	}
	if got := text(s.read("web"), "spec", "restartAt"); got != at {
		s.Errorf("restartAt is %s, want %s", got, at)
	}
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.Merge(argo, "Rollout", "web", "{spec: {restartAt: "+later+"}}")
	settle()
	s.secret("third")
	s.says("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonRolloutInProgress,
		"a restart is in progress: spec.restartAt is "+later)
}

// aRestartThatIsReverted: by a GitOps controller that removes the field before the pods are restarted. To remove it later makes
// no difference.
func aRestartThatIsReverted(s *suite) {
	s.secret("first")
	s.run(rollout("late", plain), rollout("early", plain))
	s.Make("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: early}, spec: {minAvailable: 1, selector: {matchLabels: {app: early}}}}")
	s.policy("late", target("late")[:len(target("late"))-1]+", verification: {soak: 10s}}")
	s.policy("early", target("early"))
	s.watching("late", 1)
	s.watching("early", 1)
	s.secret("second")
	s.shows("late", func(st *autorebootv1.RebootPolicyStatus) error {
		if len(st.InFlight) != 1 || st.InFlight[0].Phase != autorebootv1.PhaseSoaking {
			return fmt.Errorf("want %s", autorebootv1.PhaseSoaking)
		}
		return nil
	})
	s.Merge(argo, "Rollout", "late", "{spec: {restartAt: null}}")
	s.Eventually(func() error { return restarts(s.read("early")) })
	s.says("early", autorebootv1.ConditionProgressing, metav1.ConditionTrue, "RollingOut")
	s.Merge(argo, "Rollout", "early", "{spec: {restartAt: null}}")
	s.says("early", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonTargetReverted, "use the strategy Evict")
	s.succeeded("late", 1)
}

func aDeletionInTheMiddle(s *suite) {
	s.secret("first")
	s.run(rollout("web", plain))
	s.Make("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}")
	s.policy("p", target("web"))
	s.watching("p", 1)
	s.secret("second")
	s.Eventually(func() error { return restarts(s.read("web")) })
	s.Delete(argo, "Rollout", "web")
	if history := s.ended("p", 1); history[0].Reason != autorebootv1.ReasonTargetGone {
		s.Errorf("want %s: %s", autorebootv1.ReasonTargetGone, framework.Text(history))
	}
	s.says("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound, "Rollout web does not exist")
}

func noPods(s *suite) {
	s.secret("first")
	s.run(rollout("web", plain+", replicas: 0"))
	s.policy("p", target("web"))
	s.watching("p", 1)
	s.secret("second")
	s.says("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonScaledToZero)
	s.Merge(argo, "Rollout", "web", "{spec: {replicas: 1}}")
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultSuperseded {
		s.Errorf("want %s: %s", autorebootv1.ResultSuperseded, framework.Text(history))
	}
}

// aTemplateOfADeployment is a Rollout with workloadRef. The Deployment has no pods, and is not restarted.
func aTemplateOfADeployment(s *suite) {
	s.secret("first")
	s.Make(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}]}]}}}}`)
	s.run("{apiVersion: " + argo + ", kind: Rollout, metadata: {name: web}, spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}, " + plain + "}}")
	s.policy("p", target("web"))
	s.watching("p", 1)
	s.secret("second")
	s.succeeded("p", 1)
}

// annotations opt a Rollout in, those of Reloader too.
func annotations(s *suite) {
	s.secret("first")
	s.run(rollout("ours", plain), rollout("theirs", plain), rollout("neither", plain))
	s.Merge(argo, "Rollout", "ours", `{metadata: {annotations: {fairlead.dev/restart-on-change: "true"}}}`)
	s.Merge(argo, "Rollout", "theirs", `{metadata: {annotations: {reloader.stakater.com/auto: "true"}}}`)
	s.policy("p", "{compatibility: Reloader, targets: [{group: argoproj.io, selector: {}, optIn: Annotation}]}")
	s.watching("p", 2)
	s.secret("second")
	s.succeeded("p", 2)
	if at := text(s.read("neither"), "spec", "restartAt"); at != "" {
		s.Errorf("restarted at %s", at)
	}
}

// aPolicyOfTheCluster makes one in a namespace as soon as a Rollout there asks for it.
func aPolicyOfTheCluster(s *suite) {
	s.secret("first")
	s.run(rollout("web", plain))
	s.clusterPolicy("{group: argoproj.io, selector: {}, optIn: Annotation}")
	s.Merge(argo, "Rollout", "web", `{metadata: {annotations: {fairlead.dev/restart-on-change: "true"}}}`)
	s.Eventually(func() error { return s.Get(s.Namespace, &autorebootv1.RebootPolicy{}) })
	s.watching(s.Namespace, 1)
	s.secret("second")
	s.succeeded(s.Namespace, 1)
}

func bothVersions(s *suite) {
	s.policy("p", target("web", "api"))
	view := s.Object("{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: p}}")
	s.Must(s.Get("p", view))
	s.Eventually(func() error { // a change of it at v1alpha1
		s.Must(s.Get("p", view))
		view.SetLabels(map[string]string{"edited": "yes"})
		return s.Client.Update(s.Context(), view)
	})
	var policy autorebootv1.RebootPolicy
	s.Must(s.Get("p", &policy))
	for i, name := range []string{"web", "api"} {
		if got := policy.Spec.Targets[i]; got.Group != "argoproj.io" || got.Kind != "Rollout" || got.Name != name {
			s.Errorf("%s", framework.Text(policy.Spec.Targets))
		}
	}
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: old}, spec: {targets: [{group: argoproj.io, kind: Rollout, name: web}], cooldown: 10m, policies: [
		{name: answers, type: Probe, probe: {tcpSocket: {port: 80}}}]}}`)
	s.Must(s.Get("old", &policy))
	if got := policy.Spec.Targets[0]; got.Group != "argoproj.io" {
		s.Errorf("%s", framework.Text(policy.Spec.Targets))
	}
}

func rights(s *suite) {
	patch := `{apiGroups: [apps], resources: [deployments], verbs: [patch]}`
	_, writer := s.NewWriter("writer", &autorebootv1.RebootPolicy{}, "rebootpolicies.autoreboot.fairlead.dev", patch)
	policy := func() error {
		return writer.Create(s.Context(), s.Object("{apiVersion: "+policies+", kind: RebootPolicy, metadata: {name: p}, spec: "+target("web")+"}"))
	}
	err := policy()
	if err == nil {
		s.Fatal("a user without a right to Rollouts may restart one")
	}
	s.Expect(err.Error(), "patch", "rollouts.argoproj.io", "spec.targets[0]")
	s.Grant("rollouts", `{kind: User, name: "writer@`+s.Namespace+`"}`, `{apiGroups: [argoproj.io], resources: [rollouts], verbs: [patch]}`)
	s.Eventually(policy)
	s.says("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound, "Rollout web does not exist")
}

// chaos kills a pod of a Rollout that is named, and of one whose pods are selected.
func chaos(s *suite) {
	s.secret("first")
	s.run(rollout("web", plain+", replicas: 2"))
	before := names(s, "web")
	for i, target := range []string{"{workload: {group: argoproj.io, kind: Rollout, name: web}}", "{selector: {matchLabels: {app: web}}}"} {
		name := fmt.Sprintf("c%d", i)
		s.Make("{apiVersion: " + chaosv1.GroupVersion.String() + ", kind: ChaosPod, metadata: {name: " + name + "}, spec: {dryRun: false, target: " + target +
			`, verification: {soak: 0s}, schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 0s}}}`)
		var c chaosv1.ChaosPod
		s.Eventually(func() error { // a request that is there before is ignored
			if err := s.Get(name, &c); err != nil || !meta.IsStatusConditionTrue(c.Status.Conditions, chaosv1.ConditionReady) {
				return errors.Join(fmt.Errorf("%s is not ready: %s", name, framework.Text(c.Status)), err)
			}
			return nil
		})
		s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", name, `{metadata: {annotations: {"`+chaosv1.RunNowAnnotation+`": "1"}}}`)
		s.Eventually(func() error {
			if err := s.Get(name, &c); err != nil {
				return err
			}
			if h := c.Status.History; len(h) != 1 || h[0].Result != chaosv1.ResultSurvived || h[0].Killed != 1 {
				return fmt.Errorf("%s: want one run that was survived: %s", name, framework.Text(c.Status))
			}
			return nil
		})
		s.Tells("Rollout", "web", "Recovered", i+1)
		s.Eventually(func() error { return available(s.pods("web")) })
		if now := names(s, "web"); len(now) != 2 || slices.Equal(now, before) {
			s.Errorf("%s: no pod was killed: %q", name, now)
		}
		before = names(s, "web")
	}
}

// available is nil once there are pods, all of them ready.
func available(pods []corev1.Pod) error {
	if len(pods) == 0 {
		return errors.New("no pod")
	}
	for i := range pods {
		if !slices.ContainsFunc(pods[i].Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			return fmt.Errorf("pod %s is not ready", pods[i].Name)
		}
	}
	return nil
}

func names(s *suite, name string) (all []string) {
	for _, pod := range s.pods(name) {
		all = append(all, pod.Name)
	}
	slices.Sort(all)
	return all
}

// restarts is nil once a Rollout is to be restarted.
func restarts(o *unstructured.Unstructured) error {
	if text(o, "spec", "restartAt") == "" {
		return fmt.Errorf("%s has no restartAt", o.GetName())
	}
	return nil
}
