// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const foreignService = `{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"labels":{"owner":"another"}},"spec":{"selector":{"app":"theirs"},"ports":[{"port":80}]}}`

func TestTheNameOfAForeignServiceIsRefused(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run("create", "-f", "-", "--", fmt.Sprintf(foreignService, "db"))
	answer := s.try("apply", "-f", "-", "--", externalServices.object("v1", "db", database))
	s.Expect(answer.err, "metadata.name", `Service "db"`, "choose another name, or delete that Service")
}

func TestAServiceThatAppearsInARaceIsLeftToWhoWasFirst(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	const races = 24
	var racing sync.WaitGroup
	created, refused := make([]error, races), make([]error, races)
	for i := range races {
		name := fmt.Sprintf("race-%d", i)
		es, service := &unstructured.Unstructured{}, s.Objects(fmt.Sprintf(foreignService, name))[0]
		es.Object = s.Objects(externalServices.object("v1", name, database))[0].Object
		es.SetNamespace(s.Namespace)
		service.SetNamespace(s.Namespace)
		made := make(chan struct{})
		racing.Go(func() {
			defer close(made)
			refused[i] = s.Client.Create(t.Context(), es)
		})
		racing.Go(func() {
			if i%3 > 0 { // a head start for the operator
				<-made
			}
			created[i] = s.Client.Create(t.Context(), service)
		})
	}
	racing.Wait()
	ours := 0
	for i, err := range created {
		name := fmt.Sprintf("race-%d", i)
		switch {
		case refused[i] != nil:
			s.Expect(refused[i].Error(), "metadata.name", name) // admission saw the Service
			if err != nil {
				t.Errorf("%s: refused, and yet the Service could not be made: %v", name, err)
			}
		case err == nil:
			s.settled(name, metav1.ConditionFalse, networkingv1.ReasonServiceConflict)
			if service := s.service(name); service.Annotations[rules.OwnerAnnotation] != "" || service.Spec.Selector["app"] != "theirs" {
				t.Errorf("%s: a foreign Service was taken: %s", name, framework.Text(service))
			}
		case apierrors.IsAlreadyExists(err):
			ours++
			s.settled(name, metav1.ConditionTrue, networkingv1.ReasonPublished)
		default:
			t.Error(err)
		}
	}
	t.Logf("the operator was first in %d of %d races", ours, races)
}

func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kubectl func(s *suite, slice string) }{
		"address of a slice edited": {func(s *suite, slice string) {
			s.run("patch", "endpointslice", slice, "--type=json", "-p", `[{"op":"replace","path":"/endpoints/0/addresses/0","value":"203.0.113.9"}]`)
		}},
		"port of a slice edited": {func(s *suite, slice string) {
			s.run("patch", "endpointslice", slice, "--type=json", "-p", `[{"op":"replace","path":"/ports/0/port","value":1}]`)
		}},
		"slice deleted": {func(s *suite, slice string) { s.run("delete", "endpointslice", slice) }},
		"label of a slice changed": {func(s *suite, slice string) {
			s.run("label", "--overwrite", "endpointslice", slice, "kubernetes.io/service-name=other")
		}},
		"service-name of a slice removed": {func(s *suite, slice string) { s.run("label", "endpointslice", slice, "kubernetes.io/service-name-") }},
		"managed-by of a slice removed": {func(s *suite, slice string) {
			s.run("label", "endpointslice", slice, discoveryv1.LabelManagedBy+"-")
		}},
		"port of the Service edited": {func(s *suite, _ string) {
			s.run("patch", "service", "db", "--type=json", "-p", `[{"op":"replace","path":"/spec/ports/0/port","value":1}]`)
		}},
		"selector put on the Service": {func(s *suite, _ string) {
			s.run("patch", "service", "db", "--type=merge", "-p", `{"spec":{"selector":{"app":"mine"}}}`)
		}},
		"managed-by of the Service removed": {func(s *suite, _ string) { s.run("label", "service", "db", "app.kubernetes.io/managed-by-") }},
		"Service deleted":                   {func(s *suite, _ string) { s.run("delete", "service", "db") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.publish("db", database)
			c.kubectl(s, s.Slices("db")[0].Name)
			s.Eventually(func() error {
				var service corev1.Service
				if err := s.Get("db", &service); err != nil {
					return err
				}
				// A selector has Kubernetes' own controller make slices, which it then leaves there, empty.
				found := slices.DeleteFunc(s.Slices("db"), func(slice discoveryv1.EndpointSlice) bool {
					return slice.Labels[discoveryv1.LabelManagedBy] == "endpointslice-controller.k8s.io" && len(slice.Endpoints) == 0
				})
				if len(found) != 1 || len(found[0].Endpoints) != 1 {
					return fmt.Errorf("EndpointSlices: %s", framework.Text(found))
				}
				slice := found[0]
				owner := metav1.GetControllerOf(&slice)
				if service.Spec.Ports[0].Port != 5432 || len(service.Spec.Selector) > 0 || service.Labels["app.kubernetes.io/managed-by"] != "fairlead.dev" ||
					slice.Labels[discoveryv1.LabelManagedBy] != "fairlead.dev" || owner == nil || owner.UID != service.UID ||
					!slices.Equal(slice.Endpoints[0].Addresses, []string{"192.0.2.1"}) || *slice.Ports[0].Port != 5432 {
					return fmt.Errorf("not repaired: %s %s", framework.Text(service.Spec), framework.Text(slice))
				}
				return nil
			})
		})
	}
}

func TestForeignSlicesOfTheServiceAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("db", database)
	s.run("create", "-f", "-", "--", `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"theirs","labels":{"kubernetes.io/service-name":"db","endpointslice.kubernetes.io/managed-by":"another"}},
  "addressType":"IPv4","ports":[{"name":"sql","port":5432}],"endpoints":[{"addresses":["203.0.113.1"]}]}`)
	s.publish("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.2]}]}`)
	s.publishes("db", "192.0.2.2", "203.0.113.1")
}

func TestDeletionTakesAllOfItAway(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("db", database)
	s.run("delete", "extsvc", "db")
	s.Eventually(func() error {
		var service corev1.Service
		err := s.Get("db", &service)
		if left := s.Slices("db"); !apierrors.IsNotFound(err) || len(left) > 0 {
			return fmt.Errorf("Service: %v; %d EndpointSlices", err, len(left))
		}
		return nil
	})
}

func TestOrphanLeavesServiceAndSlicesWithoutAnOwner(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("db", database)
	s.run("patch", "extsvc", "db", "--type=merge", "-p", `{"spec":{"deletionPolicy":"Orphan"}}`)
	s.run("delete", "extsvc", "db", "--timeout="+framework.Patience.String())
	service := s.service("db")
	if owner := service.Annotations[rules.OwnerAnnotation]; owner != "" || len(service.OwnerReferences) > 0 {
		t.Errorf("the Service still has an owner: %q, %+v", owner, service.OwnerReferences)
	}
	s.publishes("db", "192.0.2.1")

	// It has no owner now, so a new ExternalService of that name cannot have it.
	answer := s.try("apply", "-f", "-", "--", externalServices.object("v1", "db", database))
	s.Expect(answer.err, "metadata.name", `Service "db"`)
}

func TestANamespaceOfExternalServicesGoesAway(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("kept", database)
	s.run("patch", "extsvc", "kept", "--type=merge", "-p", `{"spec":{"deletionPolicy":"Orphan"}}`)
	s.publish("db", database)
	s.run("delete", "namespace", s.Namespace, "--timeout="+framework.Patience.String())
}
