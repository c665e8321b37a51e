// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

func TestAnObjectThatWouldNotConvertIsNamedWhereItsKindIsOurs(t *testing.T) {
	var told []events.Event
	c := &conversions{tell: func(n events.Event) { told = append(told, n) }}
	if err := c.healthy(t.Context()); err != nil {
		t.Errorf("before any failed: %v", err)
	}
	for _, apiVersion := range []string{"networking.fairlead.dev/v1", "networking.fairlead.dev/v9", "chaos.fairlead.dev/v1", "example.com/v1", "a/b/c", ""} {
		c.Failed(conversion.Failure{
			APIVersion: apiVersion, Kind: "ExternalService", Desired: "networking.fairlead.dev/v1alpha1", Namespace: "shop", Name: "db", UID: "u",
		})
	}
	var regarding []corev1.ObjectReference
	for _, n := range told {
		regarding = append(regarding, n.Regarding)
		if n.Reason != "ConversionFailed" || !strings.Contains(n.Note, "networking.fairlead.dev/v1alpha1") || !strings.Contains(n.Note, "kubectl fairlead vet --cluster") {
			t.Errorf("%+v", n)
		}
	}
	want := []corev1.ObjectReference{
		{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Namespace: "shop", Name: "db", UID: "u"},
		{APIVersion: "networking.fairlead.dev/v9", Kind: "ExternalService", Namespace: "shop", Name: "db", UID: "u"},
	}
	if diff := cmp.Diff(want, regarding); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if c.healthy(t.Context()) == nil {
		t.Error("conversions fail, and none is said to")
	}
}

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
