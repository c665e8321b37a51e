// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Generated objects found it: of two rules of one field only the first was told, so that breaking the
// second was forgiven where the first was broken already, which the CRD does not.
func TestABrokenRuleForgivesNoOther(t *testing.T) {
	old := &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{
		Ports:       []networkingv1.ServicePort{{Name: "web", Port: 443}, {Name: "sql", Port: 5432}},
		Endpoints:   []networkingv1.Endpoint{{Name: "a", Addresses: []networkingv1.IPAddress{"192.0.2.1"}}},
		HealthCheck: &networkingv1.HealthCheck{TCP: &networkingv1.TCPCheck{}},
	}}
	now := old.DeepCopy()
	now.Spec.Ports[0].Protocol = ptr.To(corev1.ProtocolSCTP)
	if errs := Validate(now, old); len(errs) != 1 || !strings.Contains(errs[0].Detail, "name the TCP port to check") {
		t.Errorf("an update that breaks one more rule: %v", errs)
	}
	if errs := Validate(old.DeepCopy(), old); len(errs) != 0 {
		t.Errorf("an update that breaks nothing: %v", errs)
	}
}
