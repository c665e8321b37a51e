// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/cluster"
)

// floorObjects is how many ExternalServices the plain client publishes.
const floorObjects = 2000

// floorNamespace is the namespace of these ExternalServices.
const floorNamespace = "plain-client"

// floor publishes suspended ExternalServices with a plain client that computes nothing: a Service, an EndpointSlice and
// a status each. What it takes is the time of the API server and the machine.
func (r *run) floor(ctx context.Context) error {
	n := min(r.options.Objects, floorObjects)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: floorNamespace}}
	if _, err := r.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := each(ctx, n, func(ctx context.Context, i int) error {
		return r.create(ctx, floorNamespace, fmt.Sprintf("plain-%d", i), r.spec(i, map[string]any{"suspend": true}))
	})
	if err != nil {
		return err
	}
	used, err := r.apiServer()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := each(ctx, n, r.publishPlainly); err != nil {
		return err
	}
	r.result.FloorPublish, r.result.FloorObjects = time.Since(began), n
	now, err := r.apiServer()
	if err != nil {
		return err
	}
	r.result.FloorProcessor = now - used
	r.say("a plain client published %d in %.1fs, the API server used %.1fs of a processor", n, time.Since(began).Seconds(), now-used)
	return r.clean(ctx, n)
}

// apiServer returns the CPU time of the API server, in seconds.
func (r *run) apiServer() (float64, error) {
	used, err := process.UsageOf(r.stage.Component(cluster.APIServer).PID())
	return used.CPU, err
}

// publishPlainly writes what the operator writes.
func (r *run) publishPlainly(ctx context.Context, i int) error {
	name := fmt.Sprintf("plain-%d", i)
	managed := map[string]string{"app.kubernetes.io/managed-by": "plain-client"}
	_, err := r.client.CoreV1().Services(floorNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: managed},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Ports:     []corev1.ServicePort{{Name: "main", Port: int32(r.tcp.Port())}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("main"), Port: ptr.To(int32(r.tcp.Port()))}},
	}
	now := metav1.Now()
	status := networkingv1.EndpointStatus{Name: "all"}
	for _, ip := range Own(i) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{ip.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		})
		status.Addresses = append(status.Addresses, networkingv1.AddressStatus{
			IP: ip.String(), Health: networkingv1.AddressHealthy, Reason: networkingv1.ProbeConnected, LastTransitionTime: &now, LastProbeTime: &now,
		})
	}
	if _, err := r.client.DiscoveryV1().EndpointSlices(floorNamespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"status": networkingv1.ExternalServiceStatus{
		ObservedGeneration: 1, ActivePriority: ptr.To(int32(0)),
		ServiceRef: &networkingv1.ServiceReference{Name: name, UID: types.UID("a uid of the usual length of 36")},
		Addresses:  &networkingv1.AddressCounts{Total: PerObject, Healthy: PerObject, Published: PerObject},
		Endpoints:  []networkingv1.EndpointStatus{status},
		Conditions: []metav1.Condition{
			{Type: networkingv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Published", Message: "5 addresses are published", LastTransitionTime: now},
			{Type: networkingv1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: "AllHealthy", Message: "5 of 5 addresses are healthy", LastTransitionTime: now},
		},
	}})
	if err != nil {
		return err
	}
	return r.client.Discovery().RESTClient().Patch(types.MergePatchType).
		AbsPath("/apis/networking.fairlead.dev/v1/namespaces", floorNamespace, "externalservices", name, "status").
		Body(body).Do(ctx).Error()
}

// clean removes what the plain client made, so that the operator never sees it.
func (r *run) clean(ctx context.Context, n int) error {
	rest := r.client.Discovery().RESTClient()
	err := each(ctx, n, func(ctx context.Context, i int) error {
		return rest.Patch(types.MergePatchType).
			AbsPath("/apis/networking.fairlead.dev/v1/namespaces", floorNamespace, "externalservices", fmt.Sprintf("plain-%d", i)).
			Body([]byte(`{"metadata":{"finalizers":null}}`)).Do(ctx).Error()
	})
	if err != nil {
		return err
	}
	err = rest.Delete().AbsPath("/apis/networking.fairlead.dev/v1/namespaces", floorNamespace, "externalservices").Do(ctx).Error()
	if err != nil {
		return err
	}
	if err := r.client.DiscoveryV1().EndpointSlices(floorNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return each(ctx, n, func(ctx context.Context, i int) error {
		return r.client.CoreV1().Services(floorNamespace).Delete(ctx, fmt.Sprintf("plain-%d", i), metav1.DeleteOptions{})
	})
}
