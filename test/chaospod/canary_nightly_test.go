// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

func TestAForeignPodOfTheCanarysNameIsLeftAlone(t *testing.T) {
	s := newSuite(t)
	foreign := s.Make("{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: [{name: main, image: none}]}}")
	s.living("c")
	s.Make(s.manifest("c", canary))
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonCanaryConflict)
	s.now("c", "1")
	s.Eventually(func() error { // it is looked at again
		object, err := s.get("c")
		if err == nil && object.Annotations[chaosv1.RunNowAnnotation] == "" {
			err = fmt.Errorf("not asked yet")
		}
		return err
	})
	if pod := s.living("c"); pod.UID != foreign.GetUID() || len(pod.OwnerReferences) > 0 || len(pod.Labels) > 0 {
		t.Errorf("the foreign pod is %+v", pod.ObjectMeta)
	}
	s.Must(s.Client.Delete(s.Context(), foreign, client.GracePeriodSeconds(0)))
	s.living("c", foreign.GetUID())
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionTrue, "")
}
