// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
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
	restored := orphan.DeepCopy()
	restored.Annotations[rules.OwnerAnnotation] = "u-0"
	for name, test := range map[string]struct {
		user     string
		service  *corev1.Service
		obj, old *networkingv1.ExternalService
		refused  string // part of the refusal; empty where there is none
	}{
		"an orphan":                     {ann, orphan, asking(with()), nil, ""},
		"no right to update it":         {eve, orphan, asking(with()), nil, `may not update the Service "db"`},
		"an orphan that is not asked":   {ann, orphan, with(), nil, networkingv1.AdoptServiceAnnotation},
		"restored before its object":    {ann, restored, with(), nil, ""},
		"restored, and no right":        {eve, restored, with(), nil, `metadata.name: Forbidden: user "eve" may not update the Service "db"`},
		"restored, and edited later":    {eve, restored, with("192.0.2.1"), with(), ""},
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
			s := newSuite()
			s.services.service = test.service
			_, _, errs, err := s.admit(t, request(test.user, test.old != nil), test.obj, test.old, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := errs.ToAggregate(); (got != nil) != (test.refused != "") || got != nil && !strings.Contains(got.Error(), test.refused) {
				t.Errorf("%v, want %q", got, test.refused)
			}
			for _, asked := range s.rights.Rights {
				if asked.Resource == "services" && asked.Verb == "update" && (asked.Name != "db" || asked.Namespace != "shop") {
					t.Errorf("asked for %+v", asked)
				}
			}
		})
	}
}

func TestServicesAreReadLive(t *testing.T) {
	r := NewServiceReader(fake.NewClientset(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}))
	if got, err := r.Service(t.Context(), "shop", "db"); err != nil || got.Name != "db" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := r.Service(t.Context(), "shop", "other"); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}

func TestAServiceOfAnotherOwnerIsNotTaken(t *testing.T) {
	owned := func(kind, version, uid string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: version, Kind: kind, Name: "db", UID: types.UID(uid), Controller: ptr.To(true)}}}}
	}
	ours := owned("ExternalService", "networking.fairlead.dev/v1", "u-1")
	earlier := owned("ExternalService", "networking.fairlead.dev/v1", "u-0")
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	others := owned("Deployment", "apps/v1", "u-9")
	going := theirs.DeepCopy()
	going.DeletionTimestamp = ptr.To(metav1.Now())
	elsewhere := theirs.DeepCopy()
	elsewhere.Namespace = "other"
	published := with(outside)
	published.Status.ServiceRef = &networkingv1.ServiceReference{Name: "db", UID: "s-1"}
	fresh := with(outside)
	fresh.UID = ""
	nameless := with(outside)
	nameless.Name = ""

	for name, test := range map[string]struct {
		service  *corev1.Service
		err      error
		obj, old *networkingv1.ExternalService
		refused  bool
		warns    string
	}{
		"none":                            {nil, nil, fresh, nil, false, ""},
		"in another namespace":            {elsewhere, nil, fresh, nil, false, ""},
		"theirs, on create":               {theirs, nil, fresh, nil, true, ""},
		"of another controller":           {others, nil, fresh, nil, true, ""},
		"theirs, on update":               {theirs, nil, with(outside), with(outside), false, "choose another name"},
		"ours, on update":                 {ours, nil, with(outside), with(outside), false, ""},
		"of an earlier object, on create": {earlier, nil, fresh, nil, false, "still being removed"},
		"theirs, going":                   {going, nil, fresh, nil, false, "still being removed"},
		"published already":               {theirs, nil, with(outside), published, false, ""},
		"no name yet":                     {theirs, nil, nameless, nil, false, ""},
		"cannot be read":                  {nil, errors.New("no route to host"), fresh, nil, false, "no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			s.services.service, s.services.err = test.service, test.err
			warnings, errs := s.Validate(t.Context(), request(ann, test.old != nil), test.obj, test.old)
			if (len(errs) > 0) != test.refused {
				t.Fatalf("refused %v", errs)
			}
			if test.refused && (errs[0].Field != "metadata.name" || !strings.Contains(errs[0].Error(), "choose another name")) {
				t.Errorf("%v", errs)
			}
			if all := strings.Join(warnings, "\n"); (all == "") != (test.warns == "") || !strings.Contains(all, test.warns) {
				t.Errorf("warned %q, want %q", all, test.warns)
			}
		})
	}
}
