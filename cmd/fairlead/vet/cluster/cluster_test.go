// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

func TestAGoodClusterHasNoFindingsAndIsReadInPages(t *testing.T) {
	s := &server{}
	for i := range 7 {
		s.objects = append(s.objects, external(fmt.Sprintf("n%d", i), ""))
	}
	lines, summary, err := checked(t, s, Options{PageSize: 3, Name: "prod"})
	if diff := cmp.Diff(vet.Summary{Cluster: "prod", Documents: 7, Objects: 7}, summary); err != nil || lines != nil || diff != "" {
		t.Error(lines, err, diff)
	}
	pages := 0
	for _, asked := range s.asked {
		if strings.Contains(asked, "/externalservices?") {
			pages++
		}
		if strings.Contains(asked, "v1alpha1/externalservices") != strings.Contains(asked, "PartialObjectMetadataList") {
			t.Errorf("%s: what is converted alone is asked for as metadata", asked)
		}
	}
	if pages != 6 {
		t.Errorf("%d pages instead of 6: %s", pages, strings.Join(s.asked, "\n"))
	}
}

func TestWhatIsStoredIsHeldToTheRulesAndToTheVersionsThatAreServed(t *testing.T) {
	bad := strings.Replace(external("bad", ""), "192.0.2.1", "127.0.0.1", 1)
	managed := external("managed", `,"managedFields":[{"manager":"kubectl","operation":"Apply","apiVersion":"networking.fairlead.dev/v1beta1"},`+
		`{"manager":"fairlead","operation":"Apply","apiVersion":"networking.fairlead.dev/v1"},{"manager":"x","operation":"Update","apiVersion":"other.example.com/v0"}]`)
	lines, summary, err := checked(t, &server{objects: []string{bad, managed}}, Options{})
	want := []string{
		`error ExternalService shop/bad: schema spec.endpoints[0].addresses[0]: "127.0.0.1": loopback, unspecified, link-local and multicast link-local addresses are not allowed`,
		`warning ExternalService shop/managed: storage metadata.managedFields[0]: manager "kubectl" wrote at networking.fairlead.dev/v1beta1, which is not served: server-side apply to this object fails until you remove the entry`,
	}
	if diff := cmp.Diff(want, lines); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if summary.Errors != 1 || summary.Warnings != 1 {
		t.Errorf("%+v", summary)
	}
}

// poisoned fails one object at v1alpha1, and with it the LIST.
func poisoned(names ...string) func(*http.Request, string, string) error {
	return func(_ *http.Request, version, name string) error {
		for _, poison := range names {
			if version == "v1alpha1" && (name == "" || name == poison) {
				return fmt.Errorf("conversion webhook for networking.fairlead.dev/v1, Kind=ExternalService failed: ExternalService shop/%s: too much", poison)
			}
		}
		return nil
	}
}

func TestAnObjectThatFailsTheListIsFoundByItsName(t *testing.T) {
	lines, summary, err := checked(t, &server{
		objects: []string{external("a", ""), external("b", ""), external("c", "")}, refuse: poisoned("b"),
	}, Options{PageSize: 2})
	want := []string{
		`error ExternalService shop/b: conversion : cannot be read at v1alpha1, and no LIST there succeeds until it can: conversion webhook for networking.fairlead.dev/v1, Kind=ExternalService failed: ExternalService shop/b: too much; correct it with ` +
			"`kubectl edit externalservices.v1.networking.fairlead.dev -n shop b`, or delete it",
		`error ExternalService: conversion : LIST at v1alpha1 fails for all clients until the objects that cannot be read at it are fixed: conversion webhook for networking.fairlead.dev/v1, Kind=ExternalService failed: ExternalService shop/b: too much`,
	}
	if diff := cmp.Diff(want, lines); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if summary.Objects != 3 || summary.Errors != 2 {
		t.Errorf("%+v", summary)
	}
}

func TestTheSearchForUnreadableObjectsIsBounded(t *testing.T) {
	s := &server{}
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("n%03d", i))
		s.objects = append(s.objects, external(names[i], ""))
	}
	s.refuse = poisoned(names...)
	lines, _, err := checked(t, s, Options{MaxUnreadable: 20})
	if err != nil || len(lines) < 22 || len(lines) > 22+2*readers || !strings.Contains(lines[len(lines)-1], "more than 20 objects cannot be read at v1alpha1") {
		t.Error(len(lines), err, lines[len(lines)-1])
	}
}

func TestAWebhookThatDoesNotAnswerIsNoFaultOfTheObjects(t *testing.T) {
	s := &server{objects: []string{external("a", ""), external("b", "")}}
	s.refuse = func(_ *http.Request, version, name string) error {
		switch {
		case version == "v1":
			return nil
		case name == "":
			return refusal{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "storage is (re)initializing"}
		}
		return errors.New(`conversion webhook for networking.fairlead.dev/v1, Kind=ExternalService failed: Post "https://fairlead-webhook.fairlead-system.svc:443/convert": dial tcp 10.0.0.1:443: connect: connection refused`)
	}
	lines, summary, err := checked(t, s, Options{})
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "no object can be read at v1alpha1, as the conversion webhook does not answer: conversion webhook for") || summary.Objects != 2 {
		t.Error(lines, summary, err)
	}
}

func TestAnObjectThatFailsTheListAtTheStoredVersionHidesNoOther(t *testing.T) {
	s := &server{objects: []string{external("a", ""), strings.Replace(external("b", ""), "192.0.2.1", "127.0.0.1", 1), external("c", "")}}
	s.refuse = func(_ *http.Request, version, name string) error {
		if version == "v1" && (name == "" || name == "c") {
			return errors.New("conversion webhook for networking.fairlead.dev/v1alpha1, Kind=ExternalService failed: no")
		}
		return nil
	}
	lines, summary, err := checked(t, s, Options{})
	if err != nil || summary.Objects != 2 || len(lines) != 3 || !strings.Contains(lines[0], "shop/b: schema spec.endpoints[0]") ||
		!strings.Contains(lines[1], "shop/c: conversion : cannot be read at v1,") {
		t.Error(strings.Join(lines, "\n"), summary, err)
	}
}

func TestWhatMayNotBeReadIsNamedAndTheRestIsChecked(t *testing.T) {
	forbidden := refusal{http.StatusForbidden, metav1.StatusReasonForbidden, `externalservices.networking.fairlead.dev is forbidden: User "eve" cannot list`}
	s := &server{objects: []string{external("a", "")}}
	s.refuse = func(r *http.Request, _, _ string) error {
		if !strings.Contains(r.URL.Path, "/namespaces/") {
			return forbidden
		}
		return nil
	}
	_, summary, err := checked(t, s, Options{})
	want := "externalservices.networking.fairlead.dev: nothing of it was checked: list in all namespaces is needed, or name a namespace with -n: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "chaospods") || summary.Objects != 0 {
		t.Error(summary, err)
	}
	if _, summary, err = checked(t, s, Options{Namespace: "shop"}); err != nil || summary.Objects != 1 {
		t.Error(summary, err)
	}
}
