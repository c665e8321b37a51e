// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestADeletedServiceComesBackWithItsAddress(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("db", plainly(s.Servers.Address()))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	before := s.service("db")
	s.Must(s.Client.Delete(t.Context(), before))
	var after *corev1.Service
	s.Eventually(func() error {
		var list corev1.ServiceList
		if err := s.Client.List(t.Context(), &list); err != nil {
			return err
		}
		for i := range list.Items {
			if got := &list.Items[i]; got.Namespace == s.Namespace && got.Name == "db" && got.UID != before.UID {
				after = got
				return nil
			}
		}
		return fmt.Errorf("the Service is not there again")
	})
	if after.Spec.ClusterIP != before.Spec.ClusterIP {
		t.Errorf("the Service had %s and has %s", before.Spec.ClusterIP, after.Spec.ClusterIP)
	}
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port = 6543 })
	if service := s.service("db"); service.Spec.ClusterIP != before.Spec.ClusterIP || service.Spec.Ports[0].Port != 6543 {
		t.Errorf("after an edit: %s", framework.Text(service.Spec))
	}
}

func TestAServiceOfOursIsRepaired(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("db", plainly(s.Servers.Address()))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	before := s.service("db")
	s.Kubectl("patch", "service", "db", "--type=merge", "-p",
		`{"metadata":{"ownerReferences":null,"labels":null,"annotations":null},"spec":{"externalIPs":["198.51.100.200"]}}`)
	s.Tells("ExternalService", "db", "ServiceAdopted", 1)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	after := s.service("db")
	if after.UID != before.UID || after.Annotations[rules.OwnerAnnotation] == "" || after.Labels["app.kubernetes.io/managed-by"] == "" {
		t.Errorf("the Service is %s", framework.Text(after.ObjectMeta))
	}
	// Fields that others add stay theirs, and are reported.
	s.Tells("ExternalService", "db", "ForeignFields", 1)
	if message := s.message("db", networkingv1.ConditionReady); !strings.Contains(message, "externalIPs") {
		t.Error(message)
	}
}

func TestAnOrphanIsAdoptedByThoseWhoMayUpdateIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.apply("db", `{deletionPolicy: Orphan, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+address+`]}]}`)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	service, slices := s.service("db"), s.Slices("db")
	s.delete("db")
	s.vanishes("db")

	spec := `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [` + address + `]}]}`
	adopting := func(p *person) error {
		object := p.object("v1", "db", spec)
		object.SetAnnotations(map[string]string{networkingv1.AdoptServiceAnnotation: "true"})
		return p.client.Create(p.Context(), object)
	}
	outsider := s.newPerson("outsider")
	s.Eventually(func() error { // a Service that cannot be read within a second is a warning, and the object is accepted
		return expected(outsider.create("v1", "db", spec, client.DryRunAll), networkingv1.AdoptServiceAnnotation)
	})
	s.Must(expected(adopting(outsider), `may not update the Service "db"`))
	owner := s.newPerson("owner", `{apiGroups: [""], resources: [services], verbs: [update]}`)
	s.Must(adopting(owner))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	after := s.service("db")
	if after.UID != service.UID || after.Spec.ClusterIP != service.Spec.ClusterIP || after.Annotations[rules.OwnerAnnotation] == "" {
		t.Errorf("the Service is %s", framework.Text(after))
	}
	if now := s.Slices("db"); len(now) != len(slices) || now[0].UID != slices[0].UID {
		t.Errorf("slices were\n%s\nand are\n%s", framework.Text(slices), framework.Text(now))
	}
	// Who may not update it may edit the rest, and may not begin to ask.
	s.Must(outsider.update("db", touch))
	s.Must(outsider.update("db", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }))
	s.Must(expected(outsider.update("db", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{networkingv1.AdoptServiceAnnotation: "true"})
	}), `may not update the Service "db"`))
}

func TestMoreThanAHundredAddressesAreTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var all []string
	for i := range 150 {
		all = append(all, fmt.Sprintf("198.19.%d.%d", os.Getpid()%250, i+1))
	}
	s.Must(s.Servers.DNS.Addresses(s.host("many"), time.Second, all...))
	s.apply("many", named(s.host("many"), hasten))
	s.condition("many", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	if message := s.message("many", networkingv1.ConditionResolved); !strings.Contains(message, "100 of at least 150 are published") {
		t.Error(message)
	}
	s.Tells("ExternalService", "many", "AddressesLeftOut", 1)
	if n := s.Samples().Sum("fairlead_externalservice_addresses", fmt.Sprintf("namespace=%q", s.Namespace), `name="many"`, `state="LeftOut"`); n != 50 {
		t.Errorf("the metric says %v", n)
	}
}

func TestASpanThatIsTooLongIsRefusedWithItsBound(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	_, complaint, err := s.Try(s.manifest("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+s.Servers.Address()+`]}], healthCheck: {tcpSocket: {}, interval: 9999999h}}`), "apply", "-f", "-")
	if err == nil || !strings.Contains(complaint, "one to four numbers of at most five digits") {
		t.Errorf("%v: %s", err, complaint)
	}
}

func TestADrainingObjectSaysSo(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("db", plainly(s.Servers.Address()))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	changes := s.watch(&networkingv1.ExternalServiceList{})
	s.delete("db")
	timeout := time.After(framework.Patience)
	for {
		select {
		case change := <-changes.ResultChan():
			es, is := change.Object.(*networkingv1.ExternalService)
			if !is {
				t.Fatalf("the watch ended: %s", framework.Text(change))
			}
			ready := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReady)
			if ready != nil && ready.Reason == networkingv1.ReasonDraining && es.Status.Addresses.Published == 0 {
				return
			}
		case <-timeout:
			t.Fatal("the object never said that it drains")
		}
	}
}
