// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

func TestAServiceWhoseAddressIsTakenComesBackWithAnother(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("db", plainly(s.Servers.Address()))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	before := s.service("db")
	s.Must(s.Client.Delete(t.Context(), before))
	s.Make(`{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {clusterIP: "` + before.Spec.ClusterIP + `", ports: [{port: 80}]}}`)
	s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Suspend = nil })
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	if after := s.service("db"); after.Spec.ClusterIP == before.Spec.ClusterIP || after.Spec.ClusterIP == "" {
		t.Errorf("the Service has %q", after.Spec.ClusterIP)
	}
}

func TestAFamilyThatIsSaidNotToExistKeepsItsAddresses(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	host, four, six := s.host("dual"), s.Servers.Address(), s.Servers.Address6()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, four, six))
	s.apply("dual", named(host, hasten))
	s.publishes("dual", four, six)
	s.Must(s.Servers.DNS.Reply(host, externalnet.AAAA, externalnet.Reply{Fault: externalnet.NXDomain}))
	s.condition("dual", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonStale)
	s.lookups(host, externalnet.AAAA, 5)
	s.publishes("dual", four, six)
	if message := s.message("dual", networkingv1.ConditionResolved); !strings.Contains(message, "resolves, except for its AAAA records") {
		t.Error(message)
	}
}
