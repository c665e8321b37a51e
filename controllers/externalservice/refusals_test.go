// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// standby has its second priority on another port, and so in another slice.
const standby = `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1]},
  {name: b, priority: 1, addresses: [198.51.100.1], ports: [{name: sql, port: 6543}]}]}`

const refusal = "exceeded quota: small"

// refuses has writes refused that begin so.
func (s *suite) refuses(write string) {
	s.refuse = func(made string) error {
		if strings.HasPrefix(made, write) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New(refusal))
		}
		return nil
	}
}

func (s *suite) ready() (status, reason, message string) {
	s.Helper()
	c := meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionReady)
	if c == nil {
		return "", "", ""
	}
	return string(c.Status), c.Reason, c.Message
}

// settle reconciles until nothing is written.
func (s *suite) settle() {
	s.Helper()
	for range 10 {
		s.writes = nil
		s.reconcileOnce()
		if len(s.writes) == 0 {
			return
		}
		s.advance(time.Second)
	}
	s.Fatalf("still writes %q", s.writes)
}

func TestARefusedWriteStopsNoOther(t *testing.T) {
	for write, want := range map[string]struct {
		published string
		active    int32
		// untold means that the refusal is of the status itself.
		untold bool
	}{
		"apply Service":                {published: "198.51.100.1+", active: 1},
		"apply EndpointSlice":          {published: ""},
		"delete EndpointSlice":         {published: "192.0.2.1 198.51.100.1+", active: 1},
		"patch ExternalService":        {published: "198.51.100.1+", active: 1},
		"patch status ExternalService": {published: "198.51.100.1+", untold: true},
	} {
		t.Run(write, func(t *testing.T) {
			s := newSuite(t, standby)
			s.reconcileOnce()
			s.health.setHealth("a", "192.0.2.1", up)
			s.health.setHealth("b", "198.51.100.1", up)
			s.settle()
			s.wantPublished("192.0.2.1+")

			s.refuses(write)
			s.edit(func(es *networkingv1.ExternalService) {
				es.Finalizers = nil
				es.Spec.Service = &networkingv1.ServiceTemplate{Labels: map[string]common.LabelValue{"team": "db"}}
			})
			s.health.setHealth("a", "192.0.2.1", down)
			s.events = nil
			if again := s.reconcileOnce().RequeueAfter; s.refuse("x") == nil && again > maxRefusalRetry {
				t.Errorf("tries again after %s", again)
			}
			s.wantPublished(want.published)
			es := s.object()
			if status, reason, message := s.ready(); !want.untold &&
				(status != "False" || reason != networkingv1.ReasonWriteRefused || !strings.Contains(message, refusal)) {
				t.Errorf("Ready is %s %s: %s", status, reason, message)
			}
			if n := strings.Count(strings.Join(s.events, " "), networkingv1.ReasonWriteRefused); n != 1 {
				t.Errorf("%d events: %q", n, s.events)
			}
			if !want.untold && (es.Status.ObservedGeneration != 2 || ptr.Deref(es.Status.ActivePriority, -1) != want.active) {
				t.Errorf("status %+v", es.Status)
			}
			s.events = nil
			for range 8 {
				if again := s.reconcileOnce().RequeueAfter; again > maxRefusalRetry {
					t.Errorf("tries again after %s", again)
				}
			}
			if len(s.events) > 0 {
				t.Errorf("again: %q", s.events)
			}

			s.refuse = nil
			s.settle()
			s.wantPublished("198.51.100.1+")
			s.wantCondition("Ready", "True Published")
			s.wantCondition("FailedOver", "True PriorityUnhealthy")
			if es, service := s.object(), mustService(s); es.Finalizers == nil || service.Labels["team"] != "db" {
				t.Errorf("finalizers %q, labels %v", es.Finalizers, service.Labels)
			}
		})
	}
}

// Nothing that ends a fault depends on the Service.
func TestAFaultEndsAlthoughTheServiceIsRefused(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.settle()
	s.edit(func(es *networkingv1.ExternalService) {
		es.Annotations = map[string]string{networkingv1.InjectFaultAnnotation: "BlackHole for=15s at=" + s.now.UTC().Format(time.RFC3339)}
	})
	s.settle()
	s.wantPublished("192.0.2.1")
	s.refuses("apply Service")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = ptr.To("x") })
	if again := s.reconcileOnce().RequeueAfter; again > 15*time.Second {
		t.Errorf("reconciles again after %s", again)
	}
	s.advance(16 * time.Second)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	if f := s.object().Status.Fault; f == nil || f.Outcome != networkingv1.FaultOutcomeDeadlineReached {
		t.Errorf("the fault is %+v", f)
	}
}

func TestAnObjectWhoseServiceIsRefusedSaysSo(t *testing.T) {
	s := newSuite(t, tiered)
	s.refuses("apply Service")
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	status, reason, message := s.ready()
	es := s.object()
	if status != "False" || reason != networkingv1.ReasonWriteRefused || !strings.Contains(message, refusal) || es.Status.ObservedGeneration != 1 {
		t.Errorf("Ready is %s %s: %s, at generation %d", status, reason, message, es.Status.ObservedGeneration)
	}
	s.wantCondition("Healthy", "True AllHealthy")
	if es.Status.Addresses.Published != 0 || es.Status.Addresses.Healthy != 2 {
		t.Errorf("counts %+v", es.Status.Addresses)
	}
	s.refuse = nil
	s.settle()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Ready", "True Published")
}

// unreadable is an API server that responds to no read.
type unreadable struct{ client.Reader }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "db", errors.New(refusal))
}

// Its slices say by their owner that they are those of the Service in the status.
func TestAnAddressThatFailsIsTakenOffAlthoughTheServiceCannotBeRead(t *testing.T) {
	s := newSuite(t, standby)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.settle()
	edited(s, func(service *corev1.Service) { delete(service.Annotations, rules.OwnerAnnotation) })
	live := s.Live
	s.Live = unreadable{live}
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("")
	s.wantCondition("Ready", "False WriteRefused")
	if active := ptr.Deref(s.object().Status.ActivePriority, -1); active != 0 {
		t.Errorf("priority %d is active, and nothing of it is published", active)
	}
	s.Live = live
	s.settle()
	s.wantPublished("198.51.100.1+")
	s.wantCondition("Ready", "True Published")
}

// Proxies find the endpoints of a port by its name: slices have the old one and the new one meanwhile.
func TestClientsReachAServiceWhosePortsCannotBeChanged(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.settle()
	s.refuses("apply Service")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Name = "db" })
	for range 3 {
		s.reconcileOnce()
	}
	wantReached := func(want string) {
		t.Helper()
		if got := s.reach().String(); got != want {
			t.Errorf("clients reach %q, want %q", got, want)
		}
	}
	wantReached("5432/TCP 192.0.2.1:5432")
	s.health.setHealth("a", "192.0.2.1", down)
	for range 3 {
		s.reconcileOnce()
	}
	wantReached("5432/TCP 198.51.100.1:5432")
	s.wantCondition("FailedOver", "True PriorityUnhealthy")
	s.refuse = nil
	s.settle()
	wantReached("5432/TCP 198.51.100.1:5432")
	for _, slice := range sliceList(s) {
		if *slice.Ports[0].Name != "db" {
			t.Errorf("%s has port %s", slice.Name, *slice.Ports[0].Name)
		}
	}
}

// An error that passes by itself is reported once it has come twice.
func TestAFailureThatPassesIsNotTold(t *testing.T) {
	s := newSuite(t, plain)
	s.settle()
	s.refuse = func(write string) error {
		if strings.HasPrefix(write, "apply Service") {
			return apierrors.NewInternalError(errors.New("a webhook does not respond"))
		}
		return nil
	}
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = ptr.To("x") })
	s.reconcileOnce()
	s.wantCondition("Ready", "True Published")
	s.reconcileOnce()
	s.wantCondition("Ready", "False WriteRefused")
}

func sliceList(s *suite) []discoveryv1.EndpointSlice {
	s.Helper()
	var list discoveryv1.EndpointSliceList
	s.must(s.store.List(s.Context(), &list))
	return list.Items
}

func (s *suite) toldOfRefusals() int {
	return strings.Count(strings.Join(s.events, "\n"), networkingv1.ReasonWriteRefused+": ")
}

// No condition can tell that the status is refused.
func TestARefusedStatusIsToldOnceWhateverIsDoneToTheObject(t *testing.T) {
	for name, do := range map[string]func(*suite){
		"edited": func(s *suite) {
			s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = ptr.To("x") })
		},
		"suspended": func(s *suite) { s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) }) },
		"invalid":   func(s *suite) { s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports = nil }) },
		"deleted":   func(s *suite) { s.must(s.store.Delete(s.Context(), s.object())) },
		"held": func(s *suite) {
			s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = ptr.To("x") })
			s.reconcileOnce()
			state := s.states.Get(s.object())
			state.recordWrite("another", "1000000", s.now)
			s.reconcileOnce()
			clear(state.writes)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, plain)
			s.settle()
			s.refuses("patch status ExternalService")
			s.events = nil
			do(s)
			for range 4 {
				if again := s.reconcileOnce().RequeueAfter; again > time.Minute {
					t.Errorf("tries again after %s", again)
				}
			}
			if n := s.toldOfRefusals(); n != 1 || !strings.Contains(s.events[0], refusal) {
				t.Errorf("%d events tell it: %q", n, s.events)
			}
		})
	}
}

// Another refusal came first, and its condition was stored.
func TestAStatusThatIsRefusedAfterAnotherWriteIsTold(t *testing.T) {
	s := newSuite(t, plain)
	s.settle()
	s.refuses("apply Service")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = ptr.To("x") })
	s.reconcileOnce()
	s.events = nil
	s.refuses("")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = ptr.To("y") })
	s.reconcileOnce()
	if n := s.toldOfRefusals(); n != 1 {
		t.Errorf("%d events tell it: %q", n, s.events)
	}
}

// A fault begins once its status is stored, which no event but the write itself tells.
func TestAFaultWhoseStatusIsRefusedWaitsForTheBackoff(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.refuses("patch status ExternalService")
	s.requestFault("BlackHole")
	for range 3 {
		if again := s.reconcileOnce().RequeueAfter; again < minRefusalRetry {
			t.Errorf("tries again after %s", again)
		}
	}
	s.wantPublished("192.0.2.1+")
}

// What is left of the slice is not ready, so that its deletion takes nothing else away.
func TestADeniedAddressOfASuspendedObjectGoesByADeletion(t *testing.T) {
	s := newSuite(t, `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}]}`)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("a", "192.0.2.2", down)
	s.settle()
	s.wantPublished("192.0.2.1+ 192.0.2.2")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.settle()
	s.refuses("apply EndpointSlice")
	s.policy["192.0.2.1"] = egress.ReasonDeniedByPolicy
	s.reconcileOnce()
	s.wantPublished("")
	s.wantCondition("Ready", "False WriteRefused")
}
