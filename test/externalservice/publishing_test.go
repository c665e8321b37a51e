// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// plainly is a spec of one port without a health check.
func plainly(addresses ...string) string {
	return `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [` + strings.Join(addresses, ", ") + `]}]}`
}

func TestAServiceTurnsHeadlessAndBack(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.apply("db", plainly(address))
	for _, turn := range []*networkingv1.ServiceClusterIP{nil, ptr.To(networkingv1.ClusterIPNone), nil} {
		s.change("db", func(es *networkingv1.ExternalService) {
			es.Spec.Service = &networkingv1.ServiceTemplate{ClusterIP: turn}
		})
		s.Eventually(func() error {
			es, err := s.get("db")
			if err != nil {
				return err
			}
			var service corev1.Service
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(es), &service); err != nil {
				return err
			}
			all := s.Slices("db")
			headless := service.Spec.ClusterIP == corev1.ClusterIPNone
			if headless != (turn != nil) || es.Status.ClusterIP != service.Spec.ClusterIP ||
				es.Status.ServiceRef == nil || es.Status.ServiceRef.UID != service.UID ||
				len(all) != 1 || len(all[0].OwnerReferences) != 1 || all[0].OwnerReferences[0].UID != service.UID {
				return fmt.Errorf("not %s yet: %s, status %s, slices %s", ptr.Deref(turn, "with a cluster IP"), framework.Text(service.Spec), framework.Text(es.Status), framework.Text(all))
			}
			return nil
		})
		s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		s.publishes("db", address)
	}
}

func TestOneAddressForAnotherTouchesOneSliceOfMany(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var endpoints []networkingv1.Endpoint
	var all []string
	for i := range 3 {
		e := networkingv1.Endpoint{Name: fmt.Sprintf("e-%d", i)}
		for range 80 {
			all = append(all, s.Servers.Address())
			e.Addresses = append(e.Addresses, networkingv1.IPAddress(all[len(all)-1]))
		}
		endpoints = append(endpoints, e)
	}
	es := &networkingv1.ExternalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "pool"},
		Spec:       networkingv1.ExternalServiceSpec{Ports: []networkingv1.ServicePort{{Name: "sql", Port: 5432}}, Endpoints: endpoints},
	}
	s.Must(s.Client.Create(t.Context(), es))
	s.publishes("pool", all...)
	before := sliceVersions(s.Slices("pool"))
	if len(before) != 3 {
		t.Fatalf("%d slices for %d addresses: %v", len(before), len(all), before)
	}
	for _, slice := range s.Slices("pool") {
		if len(slice.Endpoints) > 100 {
			t.Errorf("%s has %d endpoints", slice.Name, len(slice.Endpoints))
		}
	}
	fresh := s.Servers.Address()
	all[117] = fresh
	s.change("pool", func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[117/80].Addresses[117%80] = networkingv1.IPAddress(fresh)
	})
	s.publishes("pool", all...)
	touched := 0
	after := sliceVersions(s.Slices("pool"))
	for name, version := range after {
		if before[name] != version {
			touched++
		}
	}
	if touched != 1 || !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		t.Errorf("%d slices were touched:\n%v\n%v", touched, before, after)
	}
}

func TestBothFamiliesHaveSlicesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	four, six := s.Servers.Address(), s.Servers.Address6()
	for _, at := range []string{four + ":5432", "[" + six + "]:5432"} {
		s.server(s.Servers.TCP(at))
	}
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: ["`+four+`", "`+six+`"]}], `+quickly+`}`)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.publishes("db", four, six)
	found := map[discoveryv1.AddressType]string{}
	for _, slice := range s.Slices("db") {
		found[slice.AddressType] += strings.Join(slice.Endpoints[0].Addresses, ",")
	}
	if want := map[discoveryv1.AddressType]string{discoveryv1.AddressTypeIPv4: four, discoveryv1.AddressTypeIPv6: six}; !maps.Equal(found, want) {
		t.Errorf("by family: %v, want %v", found, want)
	}
	service := s.service("db")
	if !slices.Equal(service.Spec.IPFamilies, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}) {
		t.Errorf("the Service has %v", service.Spec.IPFamilies)
	}

	// As in a cluster with one family.
	s.Kubectl("patch", "service", "db", "-n", s.Namespace, "-p", `{"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"], "clusterIPs": ["`+service.Spec.ClusterIP+`"]}}`)
	s.publishes("db", four)
	s.Eventually(func() error {
		if message := s.message("db", networkingv1.ConditionReady); !strings.Contains(message, `endpoint "a": 1 address is left out`) {
			return fmt.Errorf("the condition says %q", message)
		}
		return nil
	})
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
}

func TestASuspendedObjectIsFrozenAndCatchesUpLater(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	addresses, servers := s.tcp(5432, 2)
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+addresses[0]+`]}], `+quickly+`}`)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.publishes("db", addresses[0])
	s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	// Another object on the other server tells that time passes.
	s.apply("clock", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+addresses[1]+`]}], `+quickly+`}`)
	s.checkedAgain(servers[1]) // what was under way has ended
	before, probed := s.versions("db"), servers[0].Counts().Connections
	s.checkedAgain(servers[1])
	if now := servers[0].Counts().Connections; now != probed {
		t.Errorf("%d connections while suspended", now-probed)
	}
	if after := s.versions("db"); !maps.Equal(before, after) {
		t.Errorf("written while suspended: %v, then %v", before, after)
	}
	// An edit is not carried out, nor is damage repaired, before it wakes up.
	moved := s.Servers.Address()
	s.server(s.Servers.TCP(moved + ":5432"))
	s.change("db", func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{networkingv1.IPAddress(moved)}
	})
	s.Must(s.Client.Delete(t.Context(), &s.Slices("db")[0]))
	s.checkedAgain(servers[1])
	if now := s.Slices("db"); len(now) > 0 {
		t.Errorf("published while suspended: %s", framework.Text(now))
	}
	s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Suspend = nil })
	s.publishes("db", moved)
}
