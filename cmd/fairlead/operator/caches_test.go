// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

func TestTheNoticeOfAnUndecodableObjectSaysWhereAndWhatToDo(t *testing.T) {
	n := undecodableEvent(tolerantcache.Entry{
		Kind: networkingv1.GroupVersion.WithKind("ExternalService"), Key: types.NamespacedName{Namespace: "shop", Name: "db"},
		UID: "u", ResourceVersion: "7", Fault: "spec.ports is a string, which does not fit there",
	})
	want := corev1.ObjectReference{
		APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Namespace: "shop", Name: "db", UID: "u", ResourceVersion: "7",
	}
	if n.Regarding != want || n.Reason != "Undecodable" || !strings.Contains(n.Note, "spec.ports is a string") || !strings.Contains(n.Note, tolerantcache.Remedy) {
		t.Errorf("%+v", n)
	}
}

func TestTheCacheHoldsNoFieldManagersAndNoCopyOfTheManifest(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: "db", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "kept": "x"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	stripped, err := stripUnread(service)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db", Annotations: map[string]string{"kept": "x"}}}
	if diff := cmp.Diff(want, stripped); diff != "" {
		t.Errorf("in the cache (-want +got):\n%s", diff)
	}
	if _, err := stripUnread(toolscache.DeletedFinalStateUnknown{Obj: service}); err != nil {
		t.Error(err)
	}
}
