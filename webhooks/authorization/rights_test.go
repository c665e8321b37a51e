// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func trusting(secret string) *networkingv1.ExternalService {
	es := with(outside)
	es.Spec.HealthCheck = &networkingv1.HealthCheck{TLS: &networkingv1.TLSCheck{CASecretName: secret}}
	return es
}

func TestASecretIsReadOnlyForThoseWhoMay(t *testing.T) {
	for name, test := range map[string]struct {
		user     string
		obj, old *networkingv1.ExternalService
		refused  bool
		asked    int
	}{
		"create, with the right": {ann, trusting("ca"), nil, false, 1},
		"create, without":        {eve, trusting("ca"), nil, true, 1},
		"none":                   {eve, trusting(""), nil, false, 0},
		"unchanged":              {eve, trusting("ca"), trusting("ca"), false, 0},
		"changed, without":       {eve, trusting("other"), trusting("ca"), true, 1},
		"added, without":         {eve, trusting("ca"), with(outside), true, 1},
		"removed":                {eve, with(outside), trusting("ca"), false, 0},
		"resumed, without":       {eve, trusting("ca"), suspended(trusting("ca")), true, 1},
		"suspended":              {eve, suspended(trusting("ca")), trusting("ca"), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			_, _, errs, err := s.admit(t, request(test.user, test.old != nil), test.obj, test.old, nil)
			if err != nil || (len(errs) > 0) != test.refused || len(s.rights.questions) != test.asked {
				t.Fatalf("refused %v, %v, after %v", errs, err, s.rights.questions)
			}
			if !test.refused {
				return
			}
			if errs[0].Field != "spec.healthCheck.tls.caSecretName" || !strings.Contains(errs[0].Error(), `"eve"`) || !strings.Contains(errs[0].Error(), "ask for the right") {
				t.Errorf("%v", errs)
			}
			want := authorizationv1.ResourceAttributes{Namespace: "shop", Verb: "get", Version: "v1", Resource: "secrets", Name: test.obj.Spec.HealthCheck.TLS.CASecretName}
			if diff := cmp.Diff(want, s.rights.questions[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestASecretIsRefusedWithoutAnAnswer(t *testing.T) {
	s := newScene()
	s.rights.err = errors.New("no route to host")
	_, errs := s.Validate(t.Context(), request(ann, false), trusting("ca"), nil)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "no route to host") || !strings.Contains(errs[0].Error(), "try again") {
		t.Errorf("%v", errs)
	}
}

func TestAFaultIsInjectedOnlyForThoseWhoMay(t *testing.T) {
	const now, later = "BlackHole for=10m at=2026-03-02T14:00:00Z", "BlackHole for=10m at=2026-03-02T15:00:00Z"
	asking := func(value string) *networkingv1.ExternalService {
		es := with(outside)
		es.Annotations = map[string]string{networkingv1.InjectFaultAnnotation: value}
		return es
	}
	for name, test := range map[string]struct {
		user     string
		obj, old *networkingv1.ExternalService
		err      error
		refused  string
		asked    int
	}{
		"create, with the right": {ann, asking(now), nil, nil, "", 1},
		"create, without":        {eve, asking(now), nil, nil, "may not update endpointslices", 1},
		"added, without":         {eve, asking(now), with(outside), nil, "may not update endpointslices", 1},
		"changed, without":       {eve, asking(later), asking(now), nil, "may not update endpointslices", 1},
		"unchanged":              {eve, asking(now), asking(now), nil, "", 0},
		"removed":                {eve, with(outside), asking(now), nil, "", 0},
		"without a reply":        {ann, asking(now), nil, errors.New("no route to host"), "no route to host", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.rights.err = test.err
			_, errs := s.Validate(t.Context(), request(test.user, test.old != nil), test.obj, test.old)
			if len(s.rights.questions) != test.asked || (len(errs) > 0) != (test.refused != "") {
				t.Fatalf("refused %v, after %v", errs, s.rights.questions)
			}
			if test.refused != "" && (errs[0].Field != "metadata.annotations[networking.fairlead.dev/inject-fault]" || !strings.Contains(errs[0].Error(), test.refused)) {
				t.Errorf("%v", errs)
			}
			want := authorizationv1.ResourceAttributes{Namespace: "shop", Verb: "update", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
			if test.asked > 0 && s.rights.questions[0] != want {
				t.Errorf("asked %+v", s.rights.questions[0])
			}
		})
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
			s := newScene()
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
