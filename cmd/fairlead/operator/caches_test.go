// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
