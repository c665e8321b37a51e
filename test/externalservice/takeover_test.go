// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestSlicesStayAsTheyAreWhenAnotherReplicaTakesOver(t *testing.T) {
	s := newSuite(t)
	one, two := s.Servers.Address(), s.Servers.Address()
	for _, address := range []string{one, two} {
		s.server(s.Servers.TCP(address + ":5432"))
	}
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+one+`]}, {name: b, addresses: [`+two+`]}]}`)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.publishes("db", one, two)
	before := s.Slices("db")

	// What was applied after tells that the new leader has looked.
	s.KillLeader()
	s.apply("after-kill", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+one+`]}]}`)
	s.publishes("after-kill", one)
	if diff := cmp.Diff(before, s.Slices("db")); diff != "" {
		t.Errorf("after the leader was killed (-before +now):\n%s", diff)
	}

	s.Renew(nil)
	s.apply("after-restart", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+two+`]}]}`)
	s.publishes("after-restart", two)
	if diff := cmp.Diff(before, s.Slices("db")); diff != "" {
		t.Errorf("after a restart (-before +now):\n%s", diff)
	}
}
