// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// newPod makes a pod of another namespace's tenant, with addresses that lie in no range of a node.
func (s *suite) newPod(name string, addresses ...string) *unstructured.Unstructured {
	s.Helper()
	var pod *unstructured.Unstructured
	s.Eventually(func() error { // its ServiceAccount comes by itself
		pod = s.Object(`{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {schedulerName: none, containers: [{name: c, image: none}]}}`)
		pod.SetNamespace(metav1.NamespaceDefault)
		pod.SetName(s.Namespace + "-" + name)
		return s.Client.Create(s.Context(), pod)
	})
	s.afterwards(pod)
	var ips []string
	for _, address := range addresses {
		ips = append(ips, fmt.Sprintf(`{"ip": %q}`, address))
	}
	status := fmt.Sprintf(`{"status": {"phase": "Running", "podIP": %q, "podIPs": [%s]}}`, addresses[0], strings.Join(ips, ", "))
	s.Must(s.Client.Status().Patch(s.Context(), pod, client.RawPatch(types.MergePatchType, []byte(status))))
	return pod
}

// translated returns an IPv4 address as a translator (NAT64) has it.
func translated(address string) string {
	prefix, ip := netip.MustParseAddr("64:ff9b::").As16(), netip.MustParseAddr(address).As4()
	copy(prefix[12:], ip[:])
	return netip.AddrFrom16(prefix).String()
}

// Where the network gives pods addresses of its own choice, no range of a node contains them (EKS, Azure CNI, Calico,
// Cilium): what a pod has now is the cluster's at admission, at each lookup, and for what is published already.
func TestAnAddressThatAPodHasNeedsTheRightOfTheCluster(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	eve, ann := s.newPerson("eve"), s.newPerson("ann", mayPublish)
	victim, later, steady := s.Servers.Address(), s.Servers.Address(), s.Servers.Address()
	parts := strings.Split(victim, ".")
	second := fmt.Sprintf("2001:db8:%s::%s", parts[2], parts[3])
	taken := s.server(s.Servers.TCP(later + ":5432"))
	server := s.server(s.Servers.TCP(steady + ":5432"))
	pod := s.newPod("victim", victim, second)

	s.Eventually(func() error { // replicas learn of it a moment later
		return expected(eve.create("v1", "direct", static(steady, victim), client.DryRunAll), "spec.endpoints[0].addresses[1]", victim+" is an address of pods", "may not create services")
	})
	for what, err := range map[string]error{
		"its second address": eve.create("v1", "direct", fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [%q]}]}`, second)),
		"at v1alpha1":        eve.create("v1alpha1", "direct", fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [%q]}]}`, victim)),
		"translated":         eve.create("v1", "direct", fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [%q]}]}`, translated(victim))),
	} {
		if err := expected(err, "is an address of pods", "Forbidden"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.absent("direct")
	s.Must(ann.create("v1", "entitled", static(steady, victim)))
	s.publishes("entitled", steady, victim)

	// No right opens it to a name, and what a name leads to is published as soon as the pod is gone.
	s.Must(s.Servers.DNS.Addresses(s.host("victim"), time.Second, victim))
	s.apply("named", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: `+s.host("victim")+`}}], `+hasten+`}`)
	s.condition("named", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonDenied)
	s.publishes("named")

	// An address that is published before a pod has it is taken out, and no longer checked.
	s.Must(eve.create("v1", "early", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+steady+`, `+later+`]}], `+quickly+`}`))
	s.condition("early", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.publishes("early", steady, later)
	s.Must(eve.create("v1", "unchecked", static(steady, later)))
	s.publishes("unchecked", steady, later)
	s.newPod("later", later)
	for _, name := range []string{"early", "unchecked"} {
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonPolicyDenied)
		s.publishes(name, steady)
	}
	s.checkedAgain(server) // what was under way has ended
	before := taken.Counts().Connections
	s.checkedAgain(server)
	if now := taken.Counts().Connections; now != before {
		t.Errorf("the pod was connected to %d times after it was denied", now-before)
	}

	s.Must(s.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	s.condition("named", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	s.publishes("named", victim)
}
