// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// normal ends the test unless the object reads as current to a client that waits for a rollout.
func (s *suite) normal(name string) {
	s.Helper()
	es, err := s.get(name)
	s.Must(err)
	if es.Status.ObservedGeneration != es.Generation || !meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionReady) {
		s.Errorf("%s: not ready at generation %d: %s", name, es.Generation, framework.Text(es.Status))
	}
	for _, c := range es.Status.Conditions {
		if c.Type == networkingv1.ConditionReconciling || c.Type == networkingv1.ConditionStalled {
			s.Errorf("%s: %s stands while all is normal: %s", name, c.Type, c.Message)
		}
		if c.ObservedGeneration != es.Generation {
			s.Errorf("%s: %s speaks of generation %d, want %d", name, c.Type, c.ObservedGeneration, es.Generation)
		}
	}
}

// A lookup times out after seconds. On a busy machine the first status may be written after it, so several objects are made.
func TestAnObjectIsReconcilingUntilItsNameWasLookedUp(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	changes := s.watch(&networkingv1.ExternalServiceList{})
	name := ""
	for i := 0; i < 20 && name == ""; i++ {
		next := fmt.Sprintf("db-%d", i)
		s.Must(s.Servers.DNS.Fail(s.host(next), externalnet.Silent))
		s.apply(next, `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: `+s.host(next)+`}}], `+hasten+`}`)
		name = s.reconciling(changes, next)
	}
	if name == "" {
		t.Fatal("no object was reconciling before its name was looked up")
	}
	s.condition(name, networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
	s.Must(s.Servers.DNS.Addresses(s.host(name), time.Second, address))
	s.publishes(name, address)
	s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.normal(name)
}

// reconciling follows an object until its name was looked up, and returns its own name where it was reconciling before.
func (s *suite) reconciling(changes watch.Interface, name string) string {
	s.Helper()
	timeout := time.After(framework.Patience)
	for {
		select {
		case change := <-changes.ResultChan():
			es, is := change.Object.(*networkingv1.ExternalService)
			if !is {
				s.Fatalf("the watch ended: %s", framework.Text(change))
			}
			if es.Name != name {
				continue
			}
			reconciling := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReconciling)
			if reconciling != nil && reconciling.Status == metav1.ConditionTrue && reconciling.Reason == networkingv1.ReasonResolving {
				return name
			}
			if resolved := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionResolved); resolved != nil && resolved.Reason == networkingv1.ReasonTimeout {
				return ""
			}
		case <-timeout:
			s.Fatalf("%s: neither reconciling nor looked up: %s", name, framework.Text(s.status(name)))
		}
	}
}

// ofObjects are the metrics that have a row for each object, or several.
var ofObjects = []string{
	"endpoint_healthy", "addresses", "active_priority", "resolve_age_seconds", "failovers_total",
}

// ofAll are those that do not grow with the objects.
var ofAll = []string{
	"externalservice_denied_addresses_total", "externalservice_resolve_total", "externalservice_resolve_seconds", "probe_results_total",
	"probe_duration_seconds", "probe_late_total", "probe_inconclusive", "probe_targets", "probe_in_flight",
}
