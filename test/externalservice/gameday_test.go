// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// injects requests a fault.
func (s *suite) injects(name, fault string) {
	s.Helper()
	s.Kubectl("annotate", "--overwrite", "externalservice", name, networkingv1.InjectFaultAnnotation+"="+fault)
}

// ended waits until the fault has ended with an outcome.
func (s *suite) ended(name, outcome string) *networkingv1.FaultStatus {
	s.Helper()
	var last *networkingv1.FaultStatus
	s.Eventually(func() error {
		if last = s.status(name).Fault; last == nil || last.CompletionTime == nil || last.Outcome != outcome {
			return fmt.Errorf("%s: want a fault that ended with %s: %s", name, outcome, framework.Text(last))
		}
		return nil
	})
	return last
}

func TestAGameDay(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(7000, 2)
	s.apply("db", priorities(`, failover: {failback: Manual}`, addresses[:1], addresses[1:]))
	s.healthy("db", addresses[0])
	s.publishes("db", addresses[0])
	for name, declared := range map[string]string{"web": "{}", "api": "{fairlead.dev/depends-on: externalservice/db}"} {
		s.Make(fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, annotations: %s}, spec: {replicas: 0, selector: {matchLabels: {app: web}},
			template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`, name, declared))
	}
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: web}, spec: {targets: [{kind: Deployment, name: web}],
		gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]}}`)
	s.Eventually(func() error {
		if targets := s.Kubectl("get", "rebootpolicy", "web", "-o", "jsonpath={.status.targets[*].name}"); targets != "web" {
			return fmt.Errorf("the policy watches %q", targets)
		}
		return nil
	})

	// It ends by itself, through a change of version on the way.
	s.injects("db", "BlackHole for=30s")
	s.condition("db", networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "BlackHole")
	s.publishes("db")
	if old := s.Kubectl("get", "externalservices.v1alpha1.networking.fairlead.dev", "db", "-o", "jsonpath={.status..fault.type}"); old != "BlackHole" {
		t.Errorf("at v1alpha1 the fault is %q", old)
	}
	f := s.ended("db", networkingv1.FaultOutcomeDeadlineReached)
	s.publishes("db", addresses[0])
	if f.DependantsStayedReady != metav1.ConditionTrue || len(f.Dependants) != 2 {
		t.Errorf("the verdict is %s", framework.Text(f))
	}
	s.Tells("ExternalService", "db", "FaultInjected", 1)
	s.Tells("ExternalService", "db", "FaultEnded", 1)
	s.condition("db", networkingv1.ConditionFaultInjected, metav1.ConditionFalse, networkingv1.ReasonFaultEnded)

	// A failover is forced, and withdrawn; failback is Manual, and it returns all the same.
	failOver := "FailOver for=10m at=" + time.Now().UTC().Format(time.RFC3339)
	s.injects("db", failOver)
	s.active("db", 1)
	s.publishes("db", addresses[1])
	s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFaultInjected)
	s.Kubectl("annotate", "externalservice", "db", networkingv1.InjectFaultAnnotation+"-")
	s.ended("db", networkingv1.FaultOutcomeWithdrawn)
	s.publishes("db", addresses[0])
	s.without("db", networkingv1.ConditionFaultInjected)

	// What was handled is not done again where a tool applies it.
	s.injects("db", failOver)
	s.condition("db", networkingv1.ConditionFaultInjected, metav1.ConditionFalse, networkingv1.ReasonFaultEnded)

	// A real failure ends it.
	s.injects("db", "BlackHole for=10m")
	s.publishes("db")
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[1])
	s.ended("db", networkingv1.FaultOutcomeRealFailure)
	s.publishes("db", addresses[0])
	s.injects("db", "Drain endpoint=p1 for=10m")
	s.ended("db", networkingv1.FaultOutcomeRefused)
}

func TestWhoMayInjectAFault(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("db", `{ports: [{name: p, port: 7000}], endpoints: [{name: a, addresses: [`+s.Servers.Address()+`]}]}`)
	may, mayNot := s.newPerson("may", `{apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [update]}`), s.newPerson("may-not")
	asks := func(p *person, value string) error {
		return p.update("db", func(object *unstructured.Unstructured) {
			object.SetAnnotations(nil)
			if value != "" {
				object.SetAnnotations(map[string]string{networkingv1.InjectFaultAnnotation: value})
			}
		})
	}
	const good = "BlackHole for=10m"
	if err := asks(mayNot, good); err == nil || !strings.Contains(err.Error(), "may not update endpointslices.discovery.k8s.io") {
		t.Errorf("without the right: %v", err)
	}
	for _, bad := range []string{"BlackHole at=2026-03-02T14:00:00Z", "BlackHole for=2h", "BlackHole for=10m at=now"} {
		if err := asks(may, bad); err == nil || !strings.Contains(err.Error(), "metadata.annotations[networking.fairlead.dev/inject-fault]") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	s.Must(asks(may, good))
	s.ended("db", networkingv1.FaultOutcomeRefused) // it has no health check
	s.Must(asks(mayNot, ""))
	s.without("db", networkingv1.ConditionFaultInjected)
}
