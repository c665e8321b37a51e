// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

func mustService(s *suite) *corev1.Service {
	s.Helper()
	var service corev1.Service
	s.must(s.store.Get(s.Context(), objectKey, &service))
	return &service
}

func TestAppliedDigestChangesWithWhatIsWanted(t *testing.T) {
	es := &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{Ports: []networkingv1.ServicePort{{Name: "db", Port: 5432}}}}
	rules.Default(es)
	before := publication.Service(es, publication.Ports(es)).Annotations[rules.AppliedAnnotation]
	if again := publication.Service(es, publication.Ports(es)).Annotations[rules.AppliedAnnotation]; again != before || before == "" {
		t.Fatalf("digest is not stable: %q, then %q", before, again)
	}
	es.Spec.Service = &networkingv1.ServiceTemplate{ClusterIP: ptr.To(networkingv1.ClusterIPNone)}
	if publication.Service(es, publication.Ports(es)).Annotations[rules.AppliedAnnotation] == before {
		t.Error("another type has the same digest")
	}
}

func TestFieldsThatTheSpecSetsAreKeptAndOthersAreLeft(t *testing.T) {
	s := newSuite(t, `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, zone: west, addresses: [192.0.2.1]}, {name: b, addresses: [192.0.2.2]}],
		service: {annotations: {example.com/owner: us}, sessionAffinity: ClientIP, sessionAffinityTimeout: 10m, trafficDistribution: PreferClose}}`)
	s.reconcileOnce()
	s.reconcileUnchanged("it is as it is wanted")
	service := mustService(s)
	if service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP || *service.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds != 600 || service.Annotations["example.com/owner"] != "us" {
		t.Errorf("the Service is %+v", service)
	}
	for _, slice := range sliceList(s) {
		for _, e := range slice.Endpoints {
			if (e.Hints != nil) != (e.Zone != nil) || e.Hints != nil && e.Hints.ForZones[0].Name != *e.Zone {
				t.Errorf("%s has hints %+v", e.Addresses[0], e.Hints)
			}
		}
	}
	for name, change := range map[string]func(*corev1.Service){
		"sessionAffinity":     func(service *corev1.Service) { service.Spec.SessionAffinity = corev1.ServiceAffinityNone },
		"trafficDistribution": func(service *corev1.Service) { service.Spec.TrafficDistribution = nil },
		"sessionAffinityTimeout": func(service *corev1.Service) {
			service.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds = ptr.To(int32(20))
		},
	} {
		changed := mustService(s)
		change(changed)
		s.must(s.store.Update(t.Context(), changed))
		s.events = nil
		s.reconcileOnce()
		if len(s.events) != 1 || !strings.Contains(s.events[0], networkingv1.EventServiceReverted) || !strings.Contains(s.events[0], name) {
			t.Errorf("%s: told %q", name, s.events)
		}
		if fields := publication.ForeignFields(mustService(s), s.defaulted()); len(fields) > 0 {
			t.Errorf("foreign are %q", fields)
		}
		s.reconcileUnchanged(name + " is taken back")
	}
	theirs := mustService(s)
	theirs.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	if fields := publication.ForeignFields(theirs, s.defaulted()); !slices.Equal(fields, []string{"internalTrafficPolicy"}) {
		t.Errorf("foreign are %q", fields)
	}
}

// defaulted returns the object with its defaults.
func (s *suite) defaulted() *networkingv1.ExternalService {
	es := s.object()
	rules.Default(es)
	return es
}

// An address that is published although it is unhealthy is not healthy to the next process.
func TestAnUnhealthyAddressThatIsPublishedStaysUnhealthy(t *testing.T) {
	s := newSuite(t, `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}], healthCheck: {tcpSocket: {}},
		service: {clusterIP: None, publishNotReadyAddresses: true}}`)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("a", "192.0.2.2", networkingv1.AddressUnhealthy)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	s.reconcileUnchanged("it is as it is wanted")
	s.restart()
	s.reconcileUnchanged("another process")
	if got := s.health.known["192.0.2.2"].State; got != networkingv1.AddressUnhealthy {
		t.Errorf("it is %s", got)
	}
	for _, slice := range sliceList(s) {
		for _, e := range slice.Endpoints {
			if *e.Conditions.Serving != (e.Addresses[0] == "192.0.2.1") {
				t.Errorf("%s: %+v", e.Addresses[0], e.Conditions)
			}
		}
	}
}

func TestAForeignServiceIsLeftAloneAndNothingIsCheckedMeanwhile(t *testing.T) {
	s := newSuite(t, tiered)
	s.must(s.store.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: objectKey.Namespace, Name: objectKey.Name}}))
	if again := s.reconcileOnce().RequeueAfter; again != conflictRetry {
		t.Errorf("looks again after %s", again)
	}
	s.wantCondition("Ready", "False ServiceConflict")
	s.wantCondition("Healthy", "Unknown Unknown")
	s.wantEvents("ServiceConflict")
	if s.health.targets != nil {
		t.Error("addresses are checked that cannot be published")
	}
	s.reconcileUnchanged("still foreign")
	s.must(s.store.Delete(t.Context(), mustService(s)))
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Ready", "True Published")
}

func TestADeletedServiceComesBackWithItsAddress(t *testing.T) {
	const allocated = "failed to allocate IP 10.0.0.77: provided IP is already allocated"
	for name, tc := range map[string]struct {
		refusals []string
		want     string
		left     int // of the refusals
	}{
		"that is free":                 {want: "10.0.0.77"},
		"that is not released yet":     {refusals: []string{allocated, allocated}, want: "10.0.0.77"},
		"unless another has it":        {refusals: slices.Repeat([]string{allocated}, releaseTries), want: "10.0.0.1"},
		"unless it is of no range now": {refusals: []string{"failed to allocate IP 10.0.0.77: provided IP is not in the valid range", allocated}, want: "10.0.0.1", left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSuite(t, plain)
				s.reconcileOnce()
				es := s.object()
				es.Status.ClusterIP = "10.0.0.77"
				s.must(s.store.Status().Update(t.Context(), es))
				s.must(s.store.Delete(t.Context(), mustService(s)))
				s.refusals = tc.refusals
				s.reconcileOnce()
				if got := mustService(s).Spec.ClusterIP; got != tc.want || len(s.refusals) != tc.left {
					t.Errorf("the Service has %s, want %s; %d refusals are left, want %d", got, tc.want, len(s.refusals), tc.left)
				}
				s.wantCondition("Ready", "True Published")
			})
		})
	}
}

// edited changes the Service behind the reconciler's back.
func edited(s *suite, change func(*corev1.Service)) {
	s.Helper()
	service := mustService(s)
	change(service)
	s.must(s.store.Update(s.Context(), service))
	s.events = nil
}

func TestAServiceOfOursIsOursAgainWhateverWasTakenOff(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	edited(s, func(service *corev1.Service) {
		service.Labels, service.Annotations, service.ManagedFields = nil, nil, nil
	})
	s.restart()
	s.reconcileOnce()
	s.wantEvents(networkingv1.EventServiceAdopted)
	s.wantCondition("Ready", "True Published")
	if service := mustService(s); service.Annotations[rules.OwnerAnnotation] != "1" || len(service.Labels) != 1 {
		t.Errorf("annotations %v, labels %v", service.Annotations, service.Labels)
	}
	// The UID of the status alone is no proof: who may write the status may not write Services or slices.
	edited(s, func(service *corev1.Service) { service.Annotations, service.ManagedFields = nil, nil })
	for _, slice := range sliceList(s) {
		s.must(s.store.Delete(t.Context(), &slice))
	}
	s.reconcileOnce()
	s.wantCondition("Ready", "False ServiceConflict")
}

// The garbage collector deletes what has an owner reference without regard to finalizers of the owner.
func TestAServiceLosesTheOwnerReferenceOfAnEarlierVersion(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	edited(s, func(service *corev1.Service) {
		delete(service.Annotations, rules.OwnerAnnotation)
		service.OwnerReferences = []metav1.OwnerReference{{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", UID: "1", Controller: ptr.To(true)}}
	})
	s.reconcileOnce()
	s.wantEvents()
	if service := mustService(s); len(service.OwnerReferences) > 0 || service.Annotations[rules.OwnerAnnotation] != "1" {
		t.Errorf("owners %v, annotations %v", service.OwnerReferences, service.Annotations)
	}
	s.reconcileUnchanged("without an owner reference")
}

func TestAnOrphanIsAdoptedWhereTheObjectAsksForIt(t *testing.T) {
	for name, test := range map[string]struct {
		asks    bool
		change  func(*corev1.Service)
		adopted bool
	}{
		"asked for":              {true, func(*corev1.Service) {}, true},
		"not asked for":          {false, func(*corev1.Service) {}, false},
		"without our annotation": {true, func(service *corev1.Service) { service.Annotations = nil }, false},
		"without our label":      {true, func(service *corev1.Service) { service.Labels = nil }, false},
		"of a controller that is there": {true, func(service *corev1.Service) {
			service.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "x", Controller: ptr.To(true)}}
		}, false},
		"restored with the object": {false, func(service *corev1.Service) { service.Annotations[rules.OwnerAnnotation] = "0" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, plain)
			s.reconcileOnce()
			edited(s, func(service *corev1.Service) {
				delete(service.Annotations, rules.OwnerAnnotation)
				test.change(service)
			})
			es := s.object() // as if it were another object by the same name
			es.Status = networkingv1.ExternalServiceStatus{}
			s.must(s.store.Status().Update(t.Context(), es))
			if test.asks {
				es.Annotations = map[string]string{networkingv1.AdoptServiceAnnotation: "true"}
				s.must(s.store.Update(t.Context(), es))
			}
			s.reconcileOnce()
			want := "False ServiceConflict"
			if test.adopted {
				want = "True Published"
			}
			s.wantCondition("Ready", want)
			_, _, message := s.ready()
			if names := strings.Contains(message, networkingv1.AdoptServiceAnnotation); names != (name == "not asked for") {
				t.Error(message)
			}
		})
	}
}

func TestFieldsThatOthersHaveSetAreTold(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	edited(s, func(service *corev1.Service) {
		service.Spec.ExternalIPs, service.Spec.SessionAffinity = []string{"8.8.8.8"}, corev1.ServiceAffinityClientIP
		service.Spec.TrafficDistribution, service.Spec.IPFamilyPolicy = new("PreferSameZone"), new(corev1.IPFamilyPolicySingleStack)
	})
	s.reconcileOnce()
	s.wantEvents(networkingv1.EventForeignFields)
	message := meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionReady).Message
	if !strings.HasSuffix(message, foreignFieldsSet+": externalIPs, ipFamilyPolicy, sessionAffinity, trafficDistribution") {
		t.Error(message)
	}
	s.reconcileUnchanged("told")
	edited(s, func(service *corev1.Service) { service.Spec.ExternalIPs, service.Spec.SessionAffinity = nil, "" })
	s.reconcileOnce()
	s.wantEvents()
}

func TestWhatWasMadeOfASelectorIsRemovedWithIt(t *testing.T) {
	s := newSuite(t, plain)
	s.settle()
	edited(s, func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "rogue"} })
	s.reconcileOnce()
	s.wantEvents(networkingv1.EventServiceReverted)
	service := mustService(s)
	if len(service.Spec.Selector) > 0 || !slices.Contains(s.writes, "patch Service db") {
		t.Fatalf("selector %v, writes %q", service.Spec.Selector, s.writes)
	}
	edited(s, func(service *corev1.Service) { // a server-side apply leaves it, unlike the one here
		service.Annotations[rules.SelectorRemovedAnnotation] = s.now.UTC().Format(time.RFC3339)
	})
	// Their controllers are late, and this process ends meanwhile.
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID, Controller: ptr.To(true)}}
	slice := func(name, by string, owner []metav1.OwnerReference) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: name, OwnerReferences: owner, Labels: map[string]string{
				discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: by,
			}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)}}},
		}
	}
	s.must(s.store.Create(t.Context(), slice("pods", selectedBy, owner)))
	s.must(s.store.Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name, Labels: map[string]string{endpointsManagedBy: "endpoint-controller"}}})) //nolint:staticcheck // what Kubernetes still makes
	s.restart()
	if again := s.reconcileOnce().RequeueAfter; again != selectorInterval {
		t.Errorf("looks again after %s", again)
	}
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	s.advance(selectorAftermath)
	s.reconcileOnce()
	if annotations := mustService(s).Annotations; annotations[rules.SelectorRemovedAnnotation] != "" {
		t.Errorf("annotations %v", annotations)
	}
	s.reconcileUnchanged("all is removed")

	// What is made by hand is told, and left.
	s.must(s.store.Create(t.Context(), slice("by-hand", "a-person", nil)))
	s.reconcileOnce()
	s.wantEvents(networkingv1.EventForeignEndpoints)
	if _, _, message := s.ready(); !strings.HasSuffix(message, foreignSlicesFound+": by-hand") {
		t.Error(message)
	}
	s.reconcileUnchanged("told")
}

func TestAServiceThatWasAnExternalNameHasItsAddressAgain(t *testing.T) {
	s := newSuite(t, plain)
	s.settle()
	edited(s, func(service *corev1.Service) {
		service.Spec.Type, service.Spec.ExternalName, service.Spec.ClusterIP = corev1.ServiceTypeExternalName, "example.com", ""
	})
	s.reconcileOnce()
	s.wantEvents(networkingv1.EventServiceReverted)
	if !slices.Contains(s.writes, "apply Service db") || s.applied.Spec.ClusterIP != "10.0.0.1" {
		t.Errorf("writes %q, applied %+v", s.writes, s.applied.Spec)
	}
}
