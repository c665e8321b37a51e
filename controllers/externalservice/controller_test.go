// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

func TestAnnotationsThatSaySomethingCauseAReconcile(t *testing.T) {
	for name, want := range map[string]bool{
		networkingv1.FailbackNowAnnotation: true, common.ApprovedByAnnotation: true, "example.com/other": false,
	} {
		before, after := &networkingv1.ExternalService{}, &networkingv1.ExternalService{}
		after.Annotations = map[string]string{name: "x"}
		if got := controller.AnnotationsChanged[*networkingv1.ExternalService](requestAnnotations()).Update(event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: before, ObjectNew: after}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
