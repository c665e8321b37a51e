// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// external has an ExternalService lead to a server of its own, and waits until that is healthy.
func (s *suite) external(name string) *externalnet.Server {
	s.Helper()
	address := s.Servers.Address()
	server, err := s.Servers.TCP(address + ":5432")
	s.Must(err)
	s.Cleanup(server.Close)
	s.Make(fmt.Sprintf(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: %s}, spec: {
		ports: [{name: p, port: 5432}], endpoints: [{name: a, addresses: [%s]}],
		healthCheck: {tcpSocket: {}, interval: 2s, unhealthyInterval: 2s, timeout: 2s, jitterPercent: 0, successThreshold: 1, failureThreshold: 5}}}`, name, address))
	s.Cleanup(func() { // before the server closes
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), framework.Patience)
		defer cancel()
		if err := s.Client.DeleteAllOf(ctx, &networkingv1.ExternalService{}, client.InNamespace(s.Namespace)); err != nil {
			s.Errorf("delete all ExternalServices: %v", err)
		}
	})
	s.finds(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	return server
}

// finds waits for a condition of an ExternalService.
func (s *suite) finds(name, kind string, status metav1.ConditionStatus, reason string) {
	s.Helper()
	s.Eventually(func() error {
		var es networkingv1.ExternalService
		if err := s.Get(name, &es); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(es.Status.Conditions, kind); c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("%s: want %s=%s %s:\n%s", name, kind, status, reason, framework.Text(es.Status))
		}
		return nil
	})
}

// The operator has a network of its own for one test alone, which takes it away.
func TestNoPodDiesWhileTheOperatorSuspectsItsOwnNetwork(t *testing.T) {
	s := newSerialSuite(t)
	s.run("web", 3, "")
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	var databases []*externalnet.Server
	for i := range 3 {
		databases = append(databases, s.external(fmt.Sprint("db-", i)))
	}
	set := func(c externalnet.Behavior) {
		s.Helper()
		for _, server := range databases {
			s.Must(server.Set(c))
		}
	}
	s.Must(s.Servers.DNS.Down())
	up := func() error { return s.Servers.DNS.Up() }
	s.Cleanup(func() {
		if err := up(); err != nil {
			s.Error(err)
		}
	})
	set(externalnet.Behavior{Fault: externalnet.Refuse})
	for i := range databases {
		s.finds(fmt.Sprint("db-", i), networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive)
	}
	before := s.pods("web")
	s.now("c", "1")
	held := s.condition("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonProbesInconclusive)
	s.told("ChaosPod", "c", "ChaosWaiting")
	// Each change of the spec has it look again.
	for i := range 3 {
		s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", fmt.Sprintf("{spec: {count: %d}}", 1+i%2))
		s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
			if st.CurrentRun != nil || len(st.History) > 0 {
				t.Fatalf("a run began:\n%s", framework.Text(st))
			}
			if c := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionWaiting); c == nil || c.Reason != held.Reason {
				return fmt.Errorf("not held")
			}
			return nil
		})
	}
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Fatalf("killed %q", died)
	}
	s.Must(s.Servers.DNS.Up())
	up = func() error { return nil }
	set(externalnet.Behavior{})
	s.ended("c", 1, chaosv1.ResultSurvived)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		t.Errorf("killed %q", died)
	}
}

func TestAGameDayHoldsTheChaosOfItsDependants(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.run("other", 3, "")
	s.external("db")
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: p}, spec: {targets: [{kind: Deployment, name: web}],
		gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]}}`)
	s.run("declared", 2, "")
	s.Merge("apps/v1", "Deployment", "declared", fmt.Sprintf("{metadata: {annotations: {%s: externalservice/db}}}", common.DependsOnAnnotation))
	s.Eventually(func() error {
		var p autorebootv1.RebootPolicy
		err := s.Get("p", &p)
		if err == nil && len(p.Status.Targets) != 1 {
			err = fmt.Errorf("the policy has no target yet")
		}
		return err
	})
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	s.chaos("d", "dryRun: false, target: {workload: {kind: Deployment, name: other}}, "+someday)
	s.chaos("e", "dryRun: false, target: {workload: {group: apps, kind: Deployment, name: declared}}, "+someday)
	fault := func(value string) {
		s.Helper()
		s.Merge(networkingv1.GroupVersion.String(), "ExternalService", "db", fmt.Sprintf("{metadata: {annotations: {%s: %s}}}", networkingv1.InjectFaultAnnotation, value))
	}
	fault(fmt.Sprintf("%q", "BlackHole for=1h at="+time.Now().UTC().Format(time.RFC3339)))
	s.finds("db", networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "BlackHole")
	before := s.pods("web")
	s.now("c", "1")
	s.now("d", "1")
	s.now("e", "1")
	s.condition("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonFaultInjected)
	s.condition("e", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonFaultInjected)
	s.ended("d", 1, chaosv1.ResultSurvived)
	s.condition("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonFaultInjected)
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Fatalf("killed %q", died)
	}
	fault("null")
	s.ended("c", 1, chaosv1.ResultSurvived)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		t.Errorf("killed %q", died)
	}
}
