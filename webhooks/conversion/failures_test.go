// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/events"
)

func TestAnObjectThatWouldNotConvertIsNamedWhereItsKindIsOurs(t *testing.T) {
	var told []events.Event
	r := NewFailureRecorder([]schema.GroupVersionKind{{Group: "networking.fairlead.dev", Version: "v1", Kind: "ExternalService"}},
		func(n events.Event) { told = append(told, n) })
	for _, apiVersion := range []string{"networking.fairlead.dev/v1", "networking.fairlead.dev/v9", "chaos.fairlead.dev/v1", "example.com/v1", "a/b/c", ""} {
		r.Record(Failure{
			APIVersion: apiVersion, Kind: "ExternalService", Desired: "networking.fairlead.dev/v1alpha1", Namespace: "shop", Name: "db", UID: "u",
		})
	}
	var regarding []corev1.ObjectReference
	for _, n := range told {
		regarding = append(regarding, n.Regarding)
		if n.Reason != "ConversionFailed" || !strings.Contains(n.Note, "networking.fairlead.dev/v1alpha1") || !strings.Contains(n.Note, "kubectl fairlead vet --live") {
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
}
