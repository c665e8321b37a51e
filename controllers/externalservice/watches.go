// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// byService is the index of EndpointSlices by the Service they belong to.
const byService = "metadata.labels.service-name"

// Cache is what the cache must hold for the controller: of Services and EndpointSlices only its
// own, so that memory does not grow with the cluster.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Service{}: {
			Label: labels.SelectorFromSet(labels.Set{common.ManagedByLabel: common.ManagedBy}),
		},
		&discoveryv1.EndpointSlice{}: {
			Label: labels.SelectorFromSet(labels.Set{discoveryv1.LabelManagedBy: common.ManagedBy}),
		},
	}
}

// watch has objects reconciled when they, or what they made, change.
func watch(ctx context.Context, c cluster.Cluster, to controller.Controller, enqueuer *controller.Enqueuer) error {
	if err := c.GetCache().IndexField(ctx, &discoveryv1.EndpointSlice{}, byService, serviceOf); err != nil {
		return fmt.Errorf("index EndpointSlices by Service: %w", err)
	}
	for _, from := range []source.Source{
		source.Kind(c.GetCache(), &networkingv1.ExternalService{},
			&handler.TypedEnqueueRequestForObject[*networkingv1.ExternalService]{},
			predicate.Or[*networkingv1.ExternalService](
				predicate.TypedGenerationChangedPredicate[*networkingv1.ExternalService]{},
				annotationChanged())),
		source.Kind(c.GetCache(), &corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, service *corev1.Service) []reconcile.Request {
				return request(service.Namespace, service.Name)
			})),
		source.Kind(c.GetCache(), &discoveryv1.EndpointSlice{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, slice *discoveryv1.EndpointSlice) []reconcile.Request {
				return requestsOf(slice)
			})),
		enqueuer.Source(),
	} {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

func serviceOf(slice client.Object) []string {
	return []string{slice.GetLabels()[discoveryv1.LabelServiceName]}
}

// annotationChanged lets changes of the annotations pass that say something to the reconciler; they are no
// part of the generation.
func annotationChanged() predicate.TypedPredicate[*networkingv1.ExternalService] {
	return predicate.TypedFuncs[*networkingv1.ExternalService]{
		UpdateFunc: func(e event.TypedUpdateEvent[*networkingv1.ExternalService]) bool {
			for _, name := range []string{networkingv1.FailbackRequestedAnnotation, networkingv1.InjectFaultAnnotation,
				networkingv1.AdoptServiceAnnotation, common.ApprovedByAnnotation} {
				if e.ObjectOld.Annotations[name] != e.ObjectNew.Annotations[name] {
					return true
				}
			}
			return false
		},
	}
}

// requestsOf are the Services that a slice says it belongs to: by its label, which anybody may
// change, and by its owner.
func requestsOf(slice *discoveryv1.EndpointSlice) []reconcile.Request {
	var requests []reconcile.Request
	label := slice.Labels[discoveryv1.LabelServiceName]
	if label != "" {
		requests = request(slice.Namespace, label)
	}
	if owner := metav1.GetControllerOf(slice); owner != nil && owner.Kind == "Service" && owner.Name != label {
		requests = append(requests, request(slice.Namespace, owner.Name)...)
	}
	return requests
}

func request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
