// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAChangeRestartsWhateverRefersToItOnceAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.configMap("settings", "color", "red")
	s.configMap("other", "color", "red")
	shop := labeled("shop", "yes")
	const container = "{name: main, image: none}"
	for _, w := range []struct{ kind, name, pod string }{
		{deployment, "env", "{containers: [{name: main, image: none, env: [{name: A, valueFrom: {secretKeyRef: {name: creds, key: password}}}]}]}"},
		{daemonSet, "volume", "{containers: [" + container + "], volumes: [{name: v, secret: {secretName: creds}}]}"},
		{statefulSet, "init", "{initContainers: [{name: first, image: none, envFrom: [{secretRef: {name: creds}}]}], containers: [" + container + "]}"},
		{statefulSet, "env-from", "{containers: [{name: main, image: none, envFrom: [{configMapRef: {name: settings}}]}]}"},
		{deployment, "projected", "{containers: [" + container + "], volumes: [{name: v, projected: {sources: [{configMap: {name: settings}}]}}]}"},
		{deployment, "bystander", "{containers: [{name: main, image: none, env: [{name: A, valueFrom: {configMapKeyRef: {name: other, key: color}}}]}]}"},
	} {
		s.workload(w.kind, w.name, w.pod, shop)
	}
	kinds := map[string]string{"env": deployment, "volume": daemonSet, "init": statefulSet, "env-from": statefulSet, "projected": deployment, "bystander": deployment}
	for name, kind := range kinds {
		s.available(kind, name)
	}
	s.policy("p", `{targets: [{kind: Deployment, selector: {matchLabels: {shop: "yes"}}}, {kind: StatefulSet, selector: {matchLabels: {shop: "yes"}}},
		{kind: DaemonSet, selector: {matchLabels: {shop: "yes"}}}], `+onConfig+`}`)
	s.watching("p", 6)

	s.secret("creds", "password", "second")
	s.succeeded("p", 3)
	for name, kind := range kinds {
		s.in(t).restarted(kind, name, map[string]int{"env": 1, "volume": 1, "init": 1}[name])
	}
	s.configMap("settings", "color", "blue")
	s.succeeded("p", 5)
	s.configMap("other", "color", "blue")
	history := s.succeeded("p", 6)
	for name, kind := range kinds {
		s.restarted(kind, name, 1)
		own := of(history, name)
		if len(own) != 1 || own[0].ID != s.restartID(kind, name) || !slices.Equal(own[0].Triggers, []string{"config"}) {
			t.Errorf("%s carries restart %s, and is recorded as %s", name, s.restartID(kind, name), framework.Text(own))
		}
		event := s.Tells(kind, name, "RestartStarted", 1)[0]
		if event.Related == nil || event.Related.Kind != "RebootPolicy" || event.Related.Name != "p" {
			t.Errorf("RestartStarted on %s is not related to the policy: %s", name, framework.Text(event))
		}
		for reason, events := range s.Told(kind, name) {
			if events[0].ReportingController == event.ReportingController && reason != "RestartStarted" {
				t.Errorf("%s: events report more than the start of a restart: %s", name, framework.Text(events))
			}
		}
	}
	s.Tells("RebootPolicy", "p", "RestartVerified", 6)
	if told := s.Told("RebootPolicy", "p"); len(told) > 2 { // with what it says of Ready
		t.Errorf("events about the policy report more than the verified restart: %s", framework.Text(told))
	}
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionTrue, autorebootv1.ReasonStayedAvailable)
	s.without("p", autorebootv1.ConditionWaiting)
	s.without("p", autorebootv1.ConditionProgressing)
	s.normal("p")

	own := []string{fmt.Sprintf("namespace=%q", s.Namespace), `name="p"`}
	samples := s.Samples()
	for kind, n := range map[string]float64{deployment: 3, statefulSet: 2, daemonSet: 1} {
		labels := append(slices.Clone(own), fmt.Sprintf("target_kind=%q", kind), `trigger_type="ConfigChange"`, `result="Succeeded"`)
		if got := samples.Sum("fairlead_rebootpolicy_restarts_total", labels...); got != n {
			t.Errorf("%v restarts of kind %s are counted, want %v: %q", got, kind, n, samples.Rows("fairlead_rebootpolicy_restarts_total", own...))
		}
	}
	for row := range samples {
		if strings.HasPrefix(row, "fairlead_rebootpolicy_") && (strings.Contains(row, "creds") || strings.Contains(row, "settings")) {
			t.Errorf("a source is named in a metric: %s", row)
		}
	}
}

func TestWhatIsThereWhenItIsFirstSeenIsNoChange(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.secret("extra", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)

	// A new trigger, with a source that it has not seen.
	s.set("p", `{triggers: [{name: config, type: ConfigChange}, {name: extra, type: ConfigChange,
		configChange: {discovery: Explicit, sources: [{kind: Secret, name: extra}, {kind: Secret, name: late, optional: true}]}}]}`)
	s.watching("p", 1)
	// A source that was missing, and one that goes away: both are ignored unless asked otherwise.
	s.secret("late", "password", "first")
	// A recreated workload of the same name.
	s.Delete("apps/v1", deployment, "web")
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound)
	s.run(deployment, "web", takes("creds"))
	s.watching("p", 1)
	s.Delete("v1", "Secret", "late")

	// What is a change is one, and the only one.
	s.secret("extra", "password", "second")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	s.Never(func() error { return s.quiet("p", 1) })
}

func TestOnlyTheKeysThatAreListedCount(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first", "user", "ann")
	s.run(deployment, "web", takes("creds"))
	s.run(deployment, "marker", takes("creds"))
	s.run(deployment, "reader", "{containers: [{name: main, image: none, env: [{name: P, valueFrom: {secretKeyRef: {name: creds, key: password}}}]}]}")
	s.policy("referred", "{"+targets(deployment, "reader")+", "+onConfig+"}")
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: password, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds, keys: [password]}]}}]}`)
	s.policy("all", "{"+targets(deployment, "marker")+", "+onConfig+"}")
	s.watching("p", 1)
	s.watching("all", 1)
	s.watching("referred", 1)

	s.secret("creds", "password", "first", "user", "bob")
	s.succeeded("all", 1)
	s.Never(func() error { return errors.Join(s.quiet("p", 0), s.quiet("referred", 0)) })
	// Labels are no data.
	s.Merge("v1", "Secret", "creds", "{metadata: {labels: {touched: yes-it-is}}}")
	s.secret("creds", "password", "second", "user", "bob")
	s.succeeded("p", 1)
	s.succeeded("referred", 1)
	s.succeeded("all", 2)
	s.restarted(deployment, "web", 1)
	s.restarted(deployment, "reader", 1)
}

func TestABurstOfChangesIsOneRestart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "0")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", debounce: {quietPeriod: 5s}}")
	s.watching("p", 1)
	for i := range 10 {
		s.secret("creds", "password", fmt.Sprint(i+1))
		if i == 0 {
			s.held("p", "web", autorebootv1.ReasonDebouncing)
		}
	}
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	s.Never(func() error { return s.quiet("p", 1) })
}

func TestAChangeThatIsTakenBackBeforeTheRestartIsNone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", debounce: {quietPeriod: 100s}}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonDebouncing)
	s.secret("creds", "password", "first")
	s.without("p", autorebootv1.ConditionWaiting)
	s.set("p", "{debounce: {quietPeriod: 0s}}")
	s.watching("p", 1)
	s.Never(func() error { return s.quiet("p", 0) })
	s.restarted(deployment, "web", 0)
}

func TestASourceThatIsMissingIsTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: one, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: later}]}}]}`)
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonSourceNotFound)
	s.secret("later", "password", "first")
	s.watching("p", 1)
	s.secret("later", "password", "second")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

// A person, or Helm, applies new configuration and the workload that wants it, within a second; on a busy machine that takes some more.
func TestConfigAndTemplateAppliedTogetherAreOneRollout(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.configMap("settings", "color", "red")
	s.run(deployment, "web", "{containers: [{name: main, image: none, envFrom: [{configMapRef: {name: settings}}]}]}", replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", debounce: {quietPeriod: 10s}}")
	s.watching("p", 1)
	s.Never(func() error { return s.quiet("p", 0) }) // two writes within a second might be one that removes a key
	s.configMap("settings", "color", "blue")
	s.reform(deployment, "web", "{metadata: {annotations: {checksum: blue}}}")
	s.available(deployment, "web")
	history := s.ended("p", 1)
	if history[0].Result != autorebootv1.ResultSuperseded || history[0].Reason != autorebootv1.ReasonNewerPods {
		t.Errorf("want %s, %s: %s", autorebootv1.ResultSuperseded, autorebootv1.ReasonNewerPods, framework.Text(history))
	}
	s.Tells("RebootPolicy", "p", "RestartSuperseded", 1)
	s.Never(func() error { return s.quiet("p", 1) })
	s.generation(deployment, "web", 2)
	if id := s.restartID(deployment, "web"); id != "" {
		t.Errorf("the workload was restarted by %s", id)
	}
}
