// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// asking is an object that asks to take over what is there.
func asking(es *networkingv1.ExternalService) *networkingv1.ExternalService {
	es.Annotations = map[string]string{networkingv1.AdoptServiceAnnotation: "true"}
	return es
}

func sleeping(es *networkingv1.ExternalService) *networkingv1.ExternalService {
	es.Spec.Suspend = ptr.To(true)
	return es
}

func TestWhoMayUpdateAServiceMayHaveItAdopted(t *testing.T) {
	orphan := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db",
		Labels:      map[string]string{common.ManagedByLabel: common.ManagedBy},
		Annotations: map[string]string{rules.AppliedAnnotation: "0"},
	}}
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	owned := orphan.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "x", Controller: ptr.To(true)}}
	for name, test := range map[string]struct {
		user     string
		service  *corev1.Service
		obj, old *networkingv1.ExternalService
		refused  string // part of the refusal; empty where there is none
	}{
		"an orphan":                     {ann, orphan, asking(with()), nil, ""},
		"no right to update it":         {eve, orphan, asking(with()), nil, `may not update the Service "db"`},
		"an orphan that is not asked":   {ann, orphan, with(), nil, networkingv1.AdoptServiceAnnotation},
		"a foreign Service":             {ann, foreign, asking(with()), nil, "is left alone"},
		"a Service of another owner":    {ann, owned, asking(with()), nil, "is left alone"},
		"there is no Service":           {ann, nil, asking(with()), nil, ""},
		"none yet, and no right":        {eve, nil, asking(with()), nil, "may not update"},
		"asked for later":               {eve, orphan, asking(with()), with(), "may not update"},
		"asked for before":              {eve, orphan, asking(with("192.0.2.1")), asking(with()), ""},
		"asked for before, and resumed": {eve, orphan, asking(with()), sleeping(asking(with())), "may not update"},
		"asked for no longer":           {eve, nil, with(), asking(with()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.services.service = test.service
			_, _, errs, err := s.admit(t, request(test.user, test.old != nil), test.obj, test.old, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := errs.ToAggregate(); (got != nil) != (test.refused != "") || got != nil && !strings.Contains(got.Error(), test.refused) {
				t.Errorf("%v, want %q", got, test.refused)
			}
			for _, asked := range s.rights.questions {
				if asked.Resource == "services" && asked.Verb == "update" && (asked.Name != "db" || asked.Namespace != "shop") {
					t.Errorf("asked for %+v", asked)
				}
			}
		})
	}
}
