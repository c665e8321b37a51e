// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func mustService(s *stand) *corev1.Service {
	s.Helper()
	var service corev1.Service
	s.must(s.store.Get(s.Context(), objectKey, &service))
	return &service
}

func TestAppliedDigestChangesWithWhatIsWanted(t *testing.T) {
	es := &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{Ports: []networkingv1.ServicePort{{Name: "db", Port: 5432}}}}
	before := desiredService(es).Annotations[appliedAnnotation]
	if again := desiredService(es).Annotations[appliedAnnotation]; again != before || before == "" {
		t.Fatalf("digest is not stable: %q, then %q", before, again)
	}
	es.Spec.Service = &networkingv1.ServiceTemplate{Type: ptr.To(networkingv1.ServiceHeadless)}
	if desiredService(es).Annotations[appliedAnnotation] == before {
		t.Error("another type has the same digest")
	}
}

func TestAForeignServiceIsLeftAloneAndNothingIsCheckedMeanwhile(t *testing.T) {
	s := newStand(t, tiered)
	s.must(s.store.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: objectKey.Namespace, Name: objectKey.Name}}))
	if again := s.reconciles().RequeueAfter; again != conflictRetry {
		t.Errorf("looks again after %s", again)
	}
	s.says("Ready", "False ServiceConflict")
	s.says("Healthy", "Unknown Unknown")
	s.told("ServiceConflict")
	if s.health.targets != nil {
		t.Error("addresses are checked that cannot be published")
	}
	s.quiet("still foreign")
	s.must(s.store.Delete(t.Context(), mustService(s)))
	s.reconciles()
	s.health.finds("a", "192.0.2.1", up)
	s.reconciles()
	s.publishes("192.0.2.1+")
	s.says("Ready", "True Published")
}
