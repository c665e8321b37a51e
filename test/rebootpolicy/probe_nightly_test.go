// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestProbesThatFailBehindAClosedGateRestartNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	fleet := s.answers()
	s.amongWell(fleet)
	address := s.Servers.Address()
	server := s.server(s.Servers.TCP(address + ":5432"))
	s.external("db", address, 5432, metav1.ConditionTrue)
	s.run(deployment, "web", bare, replicas(2), surge(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onProbe(fleet.Port())+`, gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]}`)
	s.watching("p", 1)
	sick := s.ips("web")
	s.checked(fleet, sick, 1)
	s.answered("p")

	// What the pods need is down, and so are they.
	s.Must(server.Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	s.healthy("db", metav1.ConditionFalse)
	s.Must(fleet.Fail(sick...))
	s.Never(func() error {
		if id := s.restartID(deployment, "web"); id != "" {
			return fmt.Errorf("restarted by %s", id)
		}
		return nil
	})
	// Both come back: there is nothing to heal.
	s.Must(fleet.Fail())
	s.Must(server.Set(externalnet.Behavior{}))
	s.healthy("db", metav1.ConditionTrue)
	s.checked(fleet, sick, 5)
	s.Eventually(func() error { return s.quiet("p", 0) })
	s.restarted(deployment, "web", 0)

	// Pods that do not come back are restarted.
	s.Must(fleet.Fail(sick...))
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

// While a ChaosPod disrupts a workload, that pods do not respond is no reason to restart it.
func TestTheDeathOfAPodByChaosIsNoProbeFailure(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	fleet := s.answers()
	s.amongWell(fleet)
	s.run(deployment, "web", bare, replicas(2), surge(2))
	// Five failures take longer than the policy takes to hear of the kill.
	s.policy("p", "{"+targets(deployment, "web")+", "+strings.Replace(onProbe(fleet.Port()), "failureThreshold: 2", "failureThreshold: 5", 1)+"}")
	s.watching("p", 1)
	s.checked(fleet, s.ips("web"), 1)
	s.Make(`{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: c}, spec: {dryRun: false, target: {workload: {kind: Deployment, name: web}},
		schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 0s}, verification: {soak: 45s}}}`)
	run := func() *chaosv1.ChaosPodStatus {
		s.Helper()
		var c chaosv1.ChaosPod
		s.Must(s.Get("c", &c))
		return &c.Status
	}
	s.Eventually(func() error {
		if status := run(); status.NextRunTime == nil {
			return fmt.Errorf("not scheduled: %s", framework.Text(status))
		}
		return nil
	})
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", fmt.Sprintf("{metadata: {annotations: {%q: %q}}}", chaosv1.RunNowAnnotation, "1"))
	s.Eventually(func() error {
		if status := run(); status.CurrentRun == nil || status.CurrentRun.ReadyTime == nil {
			return fmt.Errorf("want a pod killed and replaced: %s", framework.Text(status))
		}
		return nil
	})
	sick := s.ips("web")
	// No pod responds until the others were asked eight times, which would be enough for a restart.
	s.Must(fleet.Fail(sick...))
	s.checked(fleet, s.ips("well-0"), 8)
	if status := run(); status.CurrentRun == nil {
		t.Fatalf("the run has ended before: %s", framework.Text(status))
	}
	s.Must(s.quiet("p", 0))
	s.Must(fleet.Fail())
	s.Eventually(func() error {
		if status := run(); len(status.History) != 1 || status.History[0].Result != chaosv1.ResultSurvived {
			return fmt.Errorf("want the run survived: %s", framework.Text(status))
		}
		return nil
	})
	s.checked(fleet, sick, 3)
	s.Must(s.quiet("p", 0))
	s.restarted(deployment, "web", 0)
	for _, reason := range []string{"RestartWaiting", "RestartStarted", "TriggerRecovered"} {
		s.Tells("RebootPolicy", "p", reason, 0)
	}
	// Afterwards it is.
	s.Must(fleet.Fail(sick...))
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

func TestAPolicyOfTheFirstVersionRestartsPodsThatStopAnswering(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	fleet := s.answers()
	s.amongWell(fleet)
	s.run(deployment, "web", bare, replicas(2), surge(2))
	s.Apply(fmt.Sprintf(`{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: p}, spec: {
		targets: [{kind: Deployment, name: web}], cooldown: 10m,
		policies: [{name: stuck, type: Probe, probe: {httpGet: {path: /healthz, port: %d}, interval: 1s, timeout: 1s, failureThreshold: 2}}]}}`, fleet.Port()))
	s.set("p", "{debounce: {quietPeriod: 1s}, verification: {soak: 1s}}")
	s.watching("p", 1)
	sick := s.ips("web")
	s.checked(fleet, sick, 1)
	s.answered("p")
	s.Must(fleet.Fail(sick...))
	history := s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	old := s.Object("{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: p}}")
	s.Must(s.Client.Get(s.Context(), objectKey(old), old))
	status, ok := old.Object["status"].(map[string]any)
	if want := history[0].CompletionTime.UTC().Format("2006-01-02T15:04:05Z"); !ok || status["lastRestartTime"] != want {
		t.Errorf("v1alpha1 says it was last restarted at %v, want %s: %s", status["lastRestartTime"], want, framework.Text(old))
	}
}

// TestAProbeThatNeverAnsweredRestartsNothing has nothing listen where the probe asks, as after a typing error or behind a
// NetworkPolicy. The other trigger of the policy goes on.
func TestAProbeThatNeverAnsweredRestartsNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	fleet := s.answers()
	s.amongWell(fleet)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(2), surge(2))
	sick := s.ips("web")
	s.Must(fleet.Fail(sick...))
	probe := strings.TrimSuffix(onProbe(fleet.Port()), "]")
	s.policy("p", "{"+targets(deployment, "web")+", "+probe+", {name: config, type: ConfigChange}]}")
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonProbeUnavailable)
	s.explains("p", autorebootv1.ConditionReady, `trigger "stuck" does not fire for Deployment web, which has never answered`)
	s.checked(fleet, sick, 5)
	s.Must(s.quiet("p", 0))

	s.Must(fleet.Fail())
	s.watching("p", 1)
	s.answered("p")
	s.Must(fleet.Fail(sick...))
	if history := s.succeeded("p", 1); !slices.Equal(history[0].Triggers, []string{"stuck"}) {
		t.Errorf("restarted for %q", history[0].Triggers)
	}
	s.secret("creds", "password", "second")
	s.succeeded("p", 2)
	s.restarted(deployment, "web", 2)
}

func TestAHostThatStopsAnsweringRestartsWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	fleet := s.answers()
	s.amongWell(fleet)
	address := s.Servers.Address()
	server := s.server(s.Servers.HTTP(address + ":8080"))
	s.run(deployment, "web", bare)
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: stuck, type: Probe, probe: {host: `+address+`, httpGet: {port: 8080}, interval: 1s, timeout: 1s, failureThreshold: 2}}]}`)
	s.answered("p")
	s.Must(server.Set(externalnet.Behavior{Status: 500}))
	s.succeeded("p", 1)
	// It is no better, and another restart would not help.
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonProbeUnavailable)
	s.explains("p", autorebootv1.ConditionReady, "not answered since its latest restart")
	s.Never(func() error { return s.quiet("p", 1) })
	s.Must(server.Set(externalnet.Behavior{}))
	s.watching("p", 1)
	s.answered("p")
	s.restarted(deployment, "web", 1)
	s.Must(server.Set(externalnet.Behavior{Status: 500}))
	s.succeeded("p", 2)
	s.restarted(deployment, "web", 2)
}
