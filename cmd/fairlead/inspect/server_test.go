// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// server is an API server that lists and gets some objects, page by page, and refuses some resources.
type server struct {
	objects map[string][]client.Object // by resource
	refuse  map[string]*apierrors.StatusError
	asked   atomic.Int32
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis GROUP VERSION [namespaces NAMESPACE] RESOURCE [NAME]
	if parts[0] == "api" {
		parts = parts[1:]
	} else {
		parts = parts[2:]
	}
	if parts = parts[1:]; parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource := parts[0]
	w.Header().Set("Content-Type", "application/json")
	refuse := func(err *apierrors.StatusError) {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
	}
	if err := s.refuse[resource]; err != nil {
		refuse(err)
		return
	}
	if len(parts) == 2 {
		for _, o := range s.objects[resource] {
			if o.GetName() == parts[1] {
				_ = json.NewEncoder(w).Encode(o)
				return
			}
		}
		refuse(apierrors.NewNotFound(schema.GroupResource{Resource: resource}, parts[1]))
		return
	}
	if r.URL.Query().Get("watch") != "" { // nothing changes
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	items, more := s.objects[resource][from:], ""
	if limit > 0 && len(items) > limit {
		items, more = items[:limit], strconv.Itoa(from+limit)
	}
	all := append(slices.Clone(kinds), namespaces, leases, services, slicesOf, secrets)
	k := all[slices.IndexFunc(all, func(k kind) bool { return k.resource == resource })]
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": k.Kind + "List", "apiVersion": k.group.String(), "metadata": map[string]string{"continue": more}, "items": items})
}

// client returns a client of the server.
func (s *server) client(t *testing.T) client.WithWatch {
	t.Helper()
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	c, err := NewClient(&rest.Config{Host: served.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var noon = metav1.NewTime(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))

func condition(of, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: of, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: noon}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}
}

// database is an ExternalService one of whose two addresses fails.
func database() *networkingv1.ExternalService {
	priority := int32(0)
	return &networkingv1.ExternalService{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.fairlead.dev/v1", Kind: ExternalService}, ObjectMeta: named("db"),
		Spec: networkingv1.ExternalServiceSpec{
			Ports:       []networkingv1.ServicePort{{Name: "sql", Port: 5432}},
			Endpoints:   []networkingv1.Endpoint{{Name: "primary", Addresses: []networkingv1.IPAddress{"192.0.2.1", "192.0.2.2"}}},
			HealthCheck: &networkingv1.HealthCheck{Check: common.Check{TCPSocket: &common.TCPSocketAction{}}},
		},
		Status: networkingv1.ExternalServiceStatus{
			ObservedGeneration: 1, ActivePriority: &priority,
			Conditions: []metav1.Condition{
				condition("Ready", "True", "Published", ""), condition("Healthy", "False", "Degraded", "1 of 2 addresses is healthy"),
			},
			Endpoints: []networkingv1.EndpointStatus{{Name: "primary", Addresses: []networkingv1.AddressStatus{
				{IP: "192.0.2.1", Health: networkingv1.AddressHealthy, Reason: networkingv1.ProbeConnected, LastTransitionTime: &noon},
				{IP: "192.0.2.2", Health: networkingv1.AddressUnhealthy, Reason: networkingv1.ProbeRefused, LastTransitionTime: &noon, LastProbeTime: &noon},
			}}},
		},
	}
}

// serviceOf and sliceOf are what is published of the database, with a port of this name.
func serviceOf(port string) *corev1.Service {
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: named("db"),
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: port, Port: 5432}}}}
}

func sliceOf(port string, ready ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: named("db-1"),
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &port, Port: ptr.To(int32(5432))}}}
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(slices.Contains(ready, address))}})
	}
	return slice
}

// payments is a RebootPolicy that waits for reason, with a gate on the database.
func payments(reason string) *autorebootv1.RebootPolicy {
	next := metav1.NewTime(noon.Add(10 * time.Hour))
	return &autorebootv1.RebootPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoreboot.fairlead.dev/v1", Kind: RebootPolicy}, ObjectMeta: named("payments"),
		Spec: autorebootv1.RebootPolicySpec{
			Targets:  []autorebootv1.Target{{Kind: "Deployment", Name: "api"}},
			Triggers: []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange}},
			Gates: []autorebootv1.Gate{{Name: "database", Type: autorebootv1.GateCondition,
				Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}}},
		},
		Status: autorebootv1.RebootPolicyStatus{
			ObservedGeneration: 1, NextAllowedTime: &next,
			Conditions: []metav1.Condition{condition("Ready", "True", "Watching", ""), condition("Waiting", "True", reason, "Deployment api waits")},
			Targets: []autorebootv1.TargetStatus{{Kind: "Deployment", Name: "api", Pending: &autorebootv1.PendingRestart{
				Triggers: []string{"config"}, FirstRequestTime: noon, LastRequestTime: noon, Reason: reason}}},
		},
	}
}

// deployment is one with this many of three pods available.
func deployment(name string, available int32) *appsv1.Deployment {
	three := int32(3)
	return &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named(name),
		Spec: appsv1.DeploymentSpec{Replicas: &three}, Status: appsv1.DeploymentStatus{ObservedGeneration: 1, AvailableReplicas: available}}
}

func forbidden(resource string) *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", fmt.Errorf("user \"eve\" cannot list"))
}

// notServed is what the API server says of a kind that it does not have.
func notServed() *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{}}}
}
