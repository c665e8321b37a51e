// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWhoScaledAWorkloadToZeroIsKnownWithoutItsManagedFields(t *testing.T) {
	entry := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		at := metav1.Date(2026, 11, 25, 12, minute, 0, 0, time.UTC)
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	status := entry("kube-controller-manager", `{"f:status":{"f:replicas":{}}}`, 9)
	for name, c := range map[string]struct {
		fields   []metav1.ManagedFieldsEntry
		replicas *int32
		want     string
	}{
		"scaled":              {[]metav1.ManagedFieldsEntry{entry("kubectl", replicas, 1), status}, ptr.To(int32(0)), "kubectl"},
		"scaled twice":        {[]metav1.ManagedFieldsEntry{entry("flagger", replicas, 2), entry("helm", replicas, 1), status}, ptr.To(int32(0)), "flagger"},
		"by nothing known":    {[]metav1.ManagedFieldsEntry{status, entry("broken", "{", 3)}, ptr.To(int32(0)), ""},
		"not scaled":          {[]metav1.ManagedFieldsEntry{entry("kubectl", replicas, 1)}, ptr.To(int32(2)), ""},
		"without replicas":    {[]metav1.ManagedFieldsEntry{entry("kubectl", replicas, 1)}, nil, ""},
		"without any manager": {nil, ptr.To(int32(0)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.fields}, Spec: appsv1.DeploymentSpec{Replicas: c.replicas}}
			live := Deployment(d, false).ScaledBy
			StripManagedFields(d)
			if cached := Deployment(d, false).ScaledBy; live != c.want || cached != c.want {
				t.Errorf("scaled by %q, and from a cache by %q, want %q", live, cached, c.want)
			}
			for _, kept := range d.ManagedFields {
				if kept.FieldsV1 != nil || kept.Time != nil {
					t.Errorf("kept %+v", kept)
				}
			}
		})
	}
}
