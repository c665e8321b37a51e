// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// The type of a Service changes in place although a quota counts it as the last, and what is refused leaves it as it was.
func TestTheTypeOfAServiceChangesUnderAQuota(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	spec := func(of string) string {
		return `{service: {` + of + `}, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`
	}
	s.apply("db", spec(""))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	was := s.service("db")
	s.refuseByQuota(refusedWrite{"", "v1", "services", "CREATE", "services"})
	for _, of := range []string{"clusterIP: None", ""} {
		s.apply("db", spec(of))
		s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		is := s.service("db")
		if is.UID != was.UID || is.Spec.Type != corev1.ServiceTypeClusterIP || (is.Spec.ClusterIP == corev1.ClusterIPNone) != (of != "") || is.Spec.ExternalName != "" {
			t.Errorf("%q: the Service is %s", of, framework.Text(is))
		}
		s.publishes("db", "192.0.2.1")
	}

	before := s.service("db")
	allow := s.refuseByPolicy(refusedWrite{"", "v1", "services", "CREATE", ""})
	s.Eventually(func() error {
		return s.isRefused(refusalCase{"a policy", refusedWrite{"", "v1", "services", "CREATE", ""}})
	})
	s.apply("db", spec("clusterIP: None"))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonWriteRefused)
	if is := s.service("db"); is.Spec.ClusterIP != before.Spec.ClusterIP || is.UID != before.UID {
		t.Errorf("the Service is %s", framework.Text(is))
	}
	s.apply("db", spec(""))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	allow()
}
