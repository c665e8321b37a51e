// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestAPublishedAddressThatBecomesANodesIsTakenOut(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	ann := s.newPerson("ann", mayPublish)
	eve := s.newPerson("eve")
	later, steady := s.Servers.Address(), s.Servers.Address()
	taken := s.server(s.Servers.TCP(later + ":5432"))
	server := s.server(s.Servers.TCP(steady + ":5432"))
	s.Must(eve.create("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+steady+`, `+later+`]}], `+quickly+`}`))
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.publishes("db", steady, later)

	s.join(later)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonPolicyDenied)
	if message := s.message("db", networkingv1.ConditionReady); !strings.Contains(message, later+" is an address of a node") {
		t.Errorf("the condition does not say why: %s", message)
	}
	s.publishes("db", steady)
	s.Tells("ExternalService", "db", networkingv1.ReasonPolicyDenied, 1)
	s.Tells("ExternalService", "db", "AddressDenied", 1)
	s.checkedAgain(server) // what was under way has ended
	before := taken.Counts().Connections
	s.checkedAgain(server)
	if now := taken.Counts().Connections; now != before {
		t.Errorf("the node was connected to %d times after it was denied", now-before)
	}

	// A user without the right changes nothing by touching it; a user with the right does.
	s.Must(eve.update("db", touch))
	if got := s.approver("db"); got != "" {
		t.Errorf("approved by %q, who may not", got)
	}
	s.Must(ann.update("db", touch))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.publishes("db", steady, later)
	if got := s.approver("db"); got != ann.name {
		t.Errorf("approved by %q, want %q", got, ann.name)
	}
}
