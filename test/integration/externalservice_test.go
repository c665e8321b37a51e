// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// database is a plain ExternalService of one address.
const database = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`

// publish applies an ExternalService at v1 and waits until it is Ready.
func (s *suite) publish(name, spec string) *networkingv1.ExternalService {
	s.Helper()
	s.apply(externalServices.object("v1", name, spec))
	return s.settled(name, metav1.ConditionTrue, networkingv1.ReasonPublished)
}

// settled waits until the latest spec is observed, with a Ready condition as given.
func (s *suite) settled(name string, status metav1.ConditionStatus, reason string) *networkingv1.ExternalService {
	s.Helper()
	var es networkingv1.ExternalService
	s.Eventually(func() error {
		if err := s.Get(name, &es); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReady)
		if ready == nil || ready.Status != status || ready.Reason != reason ||
			ready.ObservedGeneration != es.Generation || es.Status.ObservedGeneration != es.Generation {
			return fmt.Errorf("%s: want Ready=%s %s at generation %d, status is %s", name, status, reason, es.Generation, framework.Text(es.Status))
		}
		return nil
	})
	return &es
}

func (s *suite) service(name string) *corev1.Service {
	s.Helper()
	var service corev1.Service
	s.Must(s.Get(name, &service))
	return &service
}

// publishes waits until exactly these addresses stand behind a Service.
func (s *suite) publishes(service string, addresses ...string) {
	s.Helper()
	slices.Sort(addresses)
	s.Eventually(func() error {
		if got := s.Addresses(service); !slices.Equal(got, addresses) {
			return fmt.Errorf("%s publishes %q, want %q", service, got, addresses)
		}
		return nil
	})
}

func TestExternalServiceBecomesAServiceAndSlicesByFamilyAndPorts(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	es := s.publish("db", `{service: {labels: {team: payments}}, ports: [{name: sql, port: 5432, targetPort: 6000, appProtocol: kubernetes.io/postgres}, {name: stats, port: 9187, protocol: UDP}],
  endpoints: [{name: a, zone: eu-east, addresses: [192.0.2.1, 192.0.2.2]}, {name: six, addresses: ["2001:db8::1"]},
    {name: own, addresses: [192.0.2.3], ports: [{name: sql, port: 6432}]}, {name: out, addresses: [192.0.2.9], state: Drained}]}`)

	service := s.service("db")
	if owner := service.Annotations[rules.OwnerAnnotation]; owner != string(es.UID) || len(service.OwnerReferences) > 0 {
		t.Errorf("owner of the Service: %q, %+v", owner, service.OwnerReferences)
	}
	if service.Labels["team"] != "payments" || service.Labels[common.ManagedByLabel] != common.ManagedBy || len(service.Spec.Selector) > 0 {
		t.Errorf("Service: labels %v, selector %v", service.Labels, service.Spec.Selector)
	}
	if p := service.Spec.Ports; len(p) != 2 || p[0].Port != 5432 || p[0].TargetPort.IntVal != 6000 || *p[0].AppProtocol != "kubernetes.io/postgres" || p[1].Protocol != corev1.ProtocolUDP {
		t.Errorf("ports of the Service: %s", framework.Text(p))
	}

	shapes := map[string][]string{}
	for _, slice := range s.Slices("db") {
		if owner := metav1.GetControllerOf(&slice); owner == nil || owner.UID != service.UID {
			t.Errorf("owner of %s: %+v", slice.Name, owner)
		}
		key := fmt.Sprintf("%s %s:%d", slice.AddressType, *slice.Ports[0].Name, *slice.Ports[0].Port)
		for _, endpoint := range slice.Endpoints {
			c := endpoint.Conditions
			if c.Ready == nil || !*c.Ready || c.Serving == nil || !*c.Serving || c.Terminating == nil || *c.Terminating {
				t.Errorf("%s: conditions %s", slice.Name, framework.Text(c))
			}
			shown := endpoint.Addresses[0]
			if endpoint.Zone != nil {
				shown += " " + *endpoint.Zone
			}
			shapes[key] = append(shapes[key], shown)
		}
	}
	want := map[string][]string{
		"IPv4 sql:6000": {"192.0.2.1 eu-east", "192.0.2.2 eu-east"}, "IPv6 sql:6000": {"2001:db8::1"}, "IPv4 sql:6432": {"192.0.2.3"},
	}
	if framework.Text(shapes) != framework.Text(want) {
		t.Errorf("EndpointSlices\n got %s\nwant %s", framework.Text(shapes), framework.Text(want))
	}

	status := es.Status
	if status.ClusterIP != service.Spec.ClusterIP || status.ServiceRef == nil || status.ServiceRef.UID != service.UID ||
		status.Addresses == nil || status.Addresses.Published != 4 || status.Addresses.Total != 5 {
		t.Errorf("status: %s", framework.Text(status))
	}
	if meta.FindStatusCondition(status.Conditions, networkingv1.ConditionStalled) != nil {
		t.Errorf("Stalled stands while all is well: %s", framework.Text(status.Conditions))
	}
	s.Eventually(func() error {
		if out := s.run("get", "events", "--field-selector=involvedObject.kind=ExternalService"); !strings.Contains(out, "Published") {
			return fmt.Errorf("no event tells of the publication: %s", out)
		}
		return nil
	})
}

func TestSlicesHoldAtMostAHundredAddresses(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var endpoints []string
	for i, n := range []int{100, 100, 50} {
		var addresses []string
		for j := range n {
			addresses = append(addresses, fmt.Sprintf("198.51.%d.%d", 100+i, j+1))
		}
		endpoints = append(endpoints, fmt.Sprintf("{name: e-%d, addresses: [%s]}", i, strings.Join(addresses, ", ")))
	}
	spec := func(endpoints []string) string {
		return fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [%s]}`, strings.Join(endpoints, ", "))
	}
	s.publish("large", spec(endpoints))
	sizes := func() (sizes []int) {
		for _, slice := range s.Slices("large") {
			sizes = append(sizes, len(slice.Endpoints))
		}
		slices.Sort(sizes)
		return sizes
	}
	if got := sizes(); !slices.Equal(got, []int{50, 100, 100}) {
		t.Errorf("250 addresses stand in slices of %v", got)
	}
	s.publish("large", spec(endpoints[2:]))
	s.Eventually(func() error {
		if got := sizes(); !slices.Equal(got, []int{50}) {
			return fmt.Errorf("50 addresses stand in slices of %v", got)
		}
		return nil
	})
}

func TestSpecChangesAreFollowedAndObserved(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	first := s.publish("db", database)
	s.publishes("db", "192.0.2.1")
	second := s.publish("db", `{service: {labels: {team: a, tier: two}}, ports: [{name: sql, port: 5433}], endpoints: [{name: a, addresses: [192.0.2.2]}]}`)
	if second.Generation <= first.Generation {
		t.Errorf("generation %d after %d", second.Generation, first.Generation)
	}
	s.publishes("db", "192.0.2.2")
	service := s.service("db")
	if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 5433 || service.Labels["tier"] != "two" {
		t.Errorf("Service: %s %v", framework.Text(service.Spec.Ports), service.Labels)
	}

	s.run("label", "service/db", "theirs=yes")
	s.publish("db", `{service: {labels: {team: b}}, ports: [{name: sql, port: 5433}], endpoints: [{name: a, addresses: [192.0.2.2]}]}`)
	s.Eventually(func() error {
		labels := s.service("db").Labels
		if _, has := labels["tier"]; has || labels["team"] != "b" || labels["theirs"] != "yes" {
			return fmt.Errorf("a label that was removed should go, a foreign one stay: %v", labels)
		}
		return nil
	})
}

func TestHeadlessSwitchKeepsTheService(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("db", database)
	before := s.service("db")
	headless := strings.Replace(database, "{", "{service: {clusterIP: None}, ", 1)
	for _, c := range []struct {
		spec     string
		headless bool
	}{{headless, true}, {database, false}} {
		if !c.headless {
			s.run("patch", "extsvc", "db", "--type=merge", "-p", `{"spec":{"service":{"clusterIP":null}}}`)
			s.settled("db", metav1.ConditionTrue, networkingv1.ReasonPublished)
		} else {
			s.publish("db", c.spec)
		}
		after := s.service("db")
		if (after.Spec.ClusterIP == corev1.ClusterIPNone) != c.headless || after.UID != before.UID {
			t.Errorf("headless %t: ClusterIP %s, same Service %t", c.headless, after.Spec.ClusterIP, after.UID == before.UID)
		}
		s.publishes("db", "192.0.2.1")
		s.Eventually(func() error {
			for _, slice := range s.Slices("db") {
				if owner := metav1.GetControllerOf(&slice); owner == nil || owner.UID != after.UID {
					return fmt.Errorf("%s is owned by %+v, and the Service is %s", slice.Name, owner, after.UID)
				}
			}
			return nil
		})
		if es := s.externalService("db"); es.Status.ClusterIP != after.Spec.ClusterIP {
			t.Errorf("status says ClusterIP %s, the Service %s", es.Status.ClusterIP, after.Spec.ClusterIP)
		}
		before = after
	}
}

func TestSuspendFreezesWhatIsPublished(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("db", database)
	s.run("patch", "extsvc", "db", "--type=merge", "-p", `{"spec":{"suspend":true,"endpoints":[{"name":"a","addresses":["192.0.2.7"]}]}}`)
	s.Eventually(func() error {
		if es := s.externalService("db"); es.Status.ObservedGeneration != es.Generation {
			return fmt.Errorf("generation %d, observed %d", es.Generation, es.Status.ObservedGeneration)
		}
		return nil
	})
	if got := s.Addresses("db"); !slices.Equal(got, []string{"192.0.2.1"}) {
		t.Errorf("a suspended ExternalService published %q", got)
	}
	s.run("patch", "extsvc", "db", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	s.settled("db", metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.publishes("db", "192.0.2.7")
}

func TestANameThatLeadsNowhereIsNotReadyAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "named", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: db.example.com}}]}`))
	s.settled("named", metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
	s.Eventually(func() error {
		conditions := s.externalService("named").Status.Conditions
		if resolved := meta.FindStatusCondition(conditions, networkingv1.ConditionResolved); resolved == nil ||
			resolved.Status != metav1.ConditionFalse || resolved.Reason != networkingv1.ReasonNXDomain {
			return fmt.Errorf("conditions %s", framework.Text(conditions))
		}
		return nil
	})
	if got := s.Addresses("named"); len(got) > 0 {
		t.Errorf("published %q", got)
	}
}

// The operator's own namespace is out of the webhooks' reach, so what stands there has passed the
// schema alone.
func TestAnInvalidStoredSpecStallsWithTheReason(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.Namespace = "fairlead-system"
	s.apply(externalServices.object("v1", "stalled", `{service: {labels: {service.kubernetes.io/service-proxy-name: mine}}, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	es := s.settled("stalled", metav1.ConditionFalse, networkingv1.ReasonInvalidSpec)
	stalled := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != networkingv1.ReasonInvalidSpec {
		t.Fatalf("Stalled: %s", framework.Text(es.Status.Conditions))
	}
	s.Expect(stalled.Message, "spec.service.labels[service.kubernetes.io/service-proxy-name]", "reserved")
	var service corev1.Service
	if err := s.Get("stalled", &service); !apierrors.IsNotFound(err) {
		t.Errorf("an invalid spec was published: %v", err)
	}
	es = s.publish("stalled", `{service: {labels: {service.kubernetes.io/service-proxy-name: null}}, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`)
	if meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionStalled) != nil {
		t.Errorf("Stalled stands after the repair: %s", framework.Text(es.Status.Conditions))
	}
	s.run("delete", "extsvc", "stalled")
}
