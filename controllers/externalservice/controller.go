// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Name of the controller in logs, metrics and events.
const Name = "externalservice"

// byService is the index of EndpointSlices by the Service they belong to.
const byService = "metadata.labels.service-name"

// Options of the controller.
type Options struct {
	// Concurrency is how many objects are reconciled at once. The default is 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. The default is 2m.
	CacheSyncTimeout time.Duration
	// Warmup starts the watches on a replica that does not lead, so that taking over is quick.
	Warmup bool
	// Logger of the controller. The default drops everything.
	Logger logr.Logger
}

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

// New makes the controller. The caller starts it, once this replica leads, and sees that the
// cluster's cache runs.
func New(ctx context.Context, c cluster.Cluster, o Options) (controller.Controller, error) {
	if o.Concurrency <= 0 {
		o.Concurrency = 2
	}
	if err := c.GetCache().IndexField(ctx, &discoveryv1.EndpointSlice{}, byService, func(slice client.Object) []string {
		return []string{slice.GetLabels()[discoveryv1.LabelServiceName]}
	}); err != nil {
		return nil, fmt.Errorf("index EndpointSlices by Service: %w", err)
	}
	built, err := controller.NewUnmanaged(Name, controller.Options{
		Reconciler: &Reconciler{
			Client: c.GetClient(),
			Live:   c.GetAPIReader(),
			Events: c.GetEventRecorder("fairlead-" + Name),
			Now:    time.Now,
		},
		MaxConcurrentReconciles: o.Concurrency,
		CacheSyncTimeout:        o.CacheSyncTimeout,
		EnableWarmup:            ptr.To(o.Warmup),
		RecoverPanic:            ptr.To(true),
		SkipNameValidation:      ptr.To(true), // tests start several in one process
		Logger:                  o.Logger,
	})
	if err != nil {
		return nil, err
	}
	for _, watch := range []source.Source{
		source.Kind(c.GetCache(), &networkingv1.ExternalService{},
			&handler.TypedEnqueueRequestForObject[*networkingv1.ExternalService]{},
			predicate.TypedGenerationChangedPredicate[*networkingv1.ExternalService]{}),
		source.Kind(c.GetCache(), &corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, service *corev1.Service) []reconcile.Request {
				return request(service.Namespace, service.Name)
			})),
		source.Kind(c.GetCache(), &discoveryv1.EndpointSlice{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, slice *discoveryv1.EndpointSlice) []reconcile.Request {
				return requestsOf(slice)
			})),
	} {
		if err := built.Watch(watch); err != nil {
			return nil, err
		}
	}
	return built, nil
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
