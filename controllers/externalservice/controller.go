// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// Name of the controller in logs, metrics and events.
const Name = "externalservice"

// Options of the controller.
type Options struct {
	// Concurrency is how many objects are reconciled at once. Defaults to 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. Defaults to 2m.
	CacheSyncTimeout time.Duration
	// Logger of the controller. Defaults to logr.Discard().
	Logger logr.Logger

	// Policy decides which addresses may be published and checked. Required. When its verdicts may
	// have changed, call Controller.EnqueueAll.
	Policy endpoints.Policy
	// Lookup looks up a DNS name. Required.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Ping reports whether any nameserver replies. Defaults to nil: the lookups tell.
	Ping func(ctx context.Context) bool
	// Dial opens the connections of health checks. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Reference reports whether this process reaches something that no tenant controls; it returns when ctx
	// ends. Defaults to nil: it is not checked.
	Reference func(ctx context.Context) bool
	// OnSuspect is called when failed checks begin or cease to be taken for a fault of this process, with
	// the cause. It must not block. Defaults to nil: it is not called.
	OnSuspect func(suspect bool, cause string)
	// DrainPeriod is how long the endpoints of a deleted object are terminating before its Service is
	// deleted. Defaults to 0.
	DrainPeriod time.Duration
	// Freeze holds the blackouts of the cluster, during which no fault is injected. Defaults to nil: there
	// are none.
	Freeze *freeze.Freeze
	// WebhookExemptNamespaces are the namespaces that the webhooks are not called for. No fault is injected
	// in them.
	WebhookExemptNamespaces []string
	// ResolveWorkers is how many names are looked up at once. Defaults to 64.
	ResolveWorkers int
	// ProbeWorkers is how many health checks run at once. Defaults to 1024.
	ProbeWorkers int
	// Registerer registers the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
	// Wrap returns a reconciler that calls the one given. Defaults to nil: it is not wrapped.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Controller reconciles ExternalServices, looks up their names and checks their addresses.
type Controller struct {
	controller controller.Controller
	reconciler *Reconciler
	tracker    *resolution.Tracker
	prober     *probe.Prober
	enqueuer   *controller.Enqueuer
}

// New returns a controller. The caller starts it once this replica leads, and runs the cluster's cache.
func New(ctx context.Context, c cluster.Cluster, o Options) (*Controller, error) {
	if o.Policy == nil || o.Lookup == nil || o.Dial == nil {
		return nil, errors.New("controller " + Name + ": Policy, Lookup and Dial are required")
	}
	enqueuer := &controller.Enqueuer{}
	prober := probe.New(probe.Options{
		Dial: o.Dial, Workers: o.ProbeWorkers, Notify: enqueuer.Enqueue, Registerer: o.Registerer,
		Reference: o.Reference, OnSuspect: o.OnSuspect,
	})
	tracker := resolution.New(resolution.Options{
		Lookup: o.Lookup, Ping: o.Ping, Workers: o.ResolveWorkers, Notify: enqueuer.Enqueue, Registerer: o.Registerer,
		OnReachable: func(reachable bool) { prober.SetNetworkUnreachable(!reachable) },
	})
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Secrets: c.GetAPIReader(),
		Events: c.GetEventRecorder("fairlead-" + Name), Now: time.Now,
		CachesNetworkPolicies: func(ctx context.Context) bool {
			informer, err := c.GetCache().GetInformer(ctx, &netv1.NetworkPolicy{}, cache.BlockUntilSynced(false))
			return err == nil && informer.HasSynced()
		},
		Resolution: tracker, Probes: prober, Policy: o.Policy, DrainPeriod: o.DrainPeriod,
		Freeze: o.Freeze, WebhookExemptNamespaces: o.WebhookExemptNamespaces,
	})
	if o.Registerer != nil {
		if err := o.Registerer.Register(reconciler.metrics); err != nil {
			return nil, fmt.Errorf("metrics of ExternalServices: %w", err)
		}
	}
	reconciling, err := controller.New(Name, controller.Options{
		Reconciler: reconciler, Wrap: o.Wrap,
		Concurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := watch(ctx, c, reconciling, reconciler, enqueuer); err != nil {
		return nil, err
	}
	return &Controller{controller: reconciling, reconciler: reconciler, tracker: tracker, prober: prober, enqueuer: enqueuer}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled, looked up or
// checked before Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return controller.Warmup(ctx, Name, c.controller)
}

// Start reconciles, looks up and checks until ctx ends or one of the three fails, and returns when
// all three have ended.
func (c *Controller) Start(ctx context.Context) error {
	return controller.RunAll(ctx, c.tracker.Run, c.prober.Run, c.controller.Start)
}

// EnqueueAll has every object reconciled, since verdicts of the policy may have changed. It does not block.
func (c *Controller) EnqueueAll() {
	for _, key := range c.reconciler.states.Keys() {
		c.enqueuer.Enqueue(key)
	}
}

// EnqueueAddresses has the objects reconciled that have one of these addresses, since verdicts about them have changed.
// It reads the cache, and does not block.
func (c *Controller) EnqueueAddresses(addresses []netip.Addr) {
	var all networkingv1.ExternalServiceList
	if err := c.reconciler.Client.List(context.Background(), &all, client.UnsafeDisableDeepCopy); err != nil {
		c.EnqueueAll() // the cache has not synced, or no longer knows the kind
		return
	}
	moved := make(map[string]bool, len(addresses))
	for _, ip := range addresses {
		moved[ip.String()] = true
	}
	for i := range all.Items {
		if hasAddress(&all.Items[i], moved) {
			c.enqueuer.Enqueue(client.ObjectKeyFromObject(&all.Items[i]))
		}
	}
}

// hasAddress reports whether one of the addresses is in the spec, or was found for a name.
func hasAddress(es *networkingv1.ExternalService, addresses map[string]bool) bool {
	for i := range es.Spec.Endpoints {
		if slices.ContainsFunc(es.Spec.Endpoints[i].Addresses, func(ip networkingv1.IPAddress) bool { return addresses[string(ip)] }) {
			return true
		}
	}
	for i := range es.Status.Endpoints {
		if slices.ContainsFunc(es.Status.Endpoints[i].Addresses, func(a networkingv1.AddressStatus) bool { return addresses[a.IP] }) {
			return true
		}
	}
	return false
}

var (
	_ Resolution       = (*resolution.Tracker)(nil)
	_ Probes           = (*probe.Prober)(nil)
	_ endpoints.Policy = (*egress.Policy)(nil)
)

// Cache returns what the cache holds for the controller: of Services and NetworkPolicies only its own, and of EndpointSlices all
// but those that Kubernetes makes of selectors, so that memory does not grow with the cluster. The others are few: our own,
// those that are made by hand, and those that mirror v1/Endpoints.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Service{}: {
			Label: labels.SelectorFromSet(labels.Set{common.ManagedByLabel: common.ManagedBy}),
		},
		&discoveryv1.EndpointSlice{}: {
			Label: labels.NewSelector().Add(notSelected()),
		},
		&netv1.NetworkPolicy{}: {
			Label: labels.SelectorFromSet(labels.Set{common.ManagedByLabel: common.ManagedBy}),
		},
	}
}

// notSelected selects EndpointSlices that are not made of a selector.
func notSelected() labels.Requirement {
	requirement, err := labels.NewRequirement(discoveryv1.LabelManagedBy, selection.NotIn, []string{selectedBy})
	if err != nil {
		return labels.Requirement{} // both are constants
	}
	return *requirement
}

// watch enqueues objects when they, their Services or their slices change.
func watch(ctx context.Context, c cluster.Cluster, to controller.Controller, r *Reconciler, enqueuer *controller.Enqueuer) error {
	if err := c.GetCache().IndexField(ctx, &discoveryv1.EndpointSlice{}, byService, serviceOf); err != nil {
		return fmt.Errorf("index EndpointSlices by Service: %w", err)
	}
	for _, from := range []source.Source{
		controller.Kind(c.GetCache(), &networkingv1.ExternalService{},
			&handler.TypedEnqueueRequestForObject[*networkingv1.ExternalService]{},
			predicate.Or[*networkingv1.ExternalService](
				predicate.TypedGenerationChangedPredicate[*networkingv1.ExternalService]{},
				controller.AnnotationsChanged[*networkingv1.ExternalService](requestAnnotations()), finalizerRemoved(),
				controller.StatusChangedByOthers(r.ownWrites, func(es *networkingv1.ExternalService) any { return &es.Status }))),
		controller.Kind(c.GetCache(), &corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, service *corev1.Service) []reconcile.Request {
				return request(service.Namespace, service.Name)
			})),
		controller.Kind(c.GetCache(), &discoveryv1.EndpointSlice{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, slice *discoveryv1.EndpointSlice) []reconcile.Request {
				return requestsOf(slice)
			})),
		controller.OptionalKind(c.GetCache(), &netv1.NetworkPolicy{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, policy *netv1.NetworkPolicy) []reconcile.Request {
				return requestsOfOwner(policy, "")
			})),
		enqueuer.Source(),
	} {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

// requestAnnotations are those by which a user requests something, or is approved.
func requestAnnotations() []string {
	return []string{
		networkingv1.FailbackNowAnnotation, networkingv1.InjectFaultAnnotation,
		networkingv1.AdoptServiceAnnotation, common.ApprovedByAnnotation,
	}
}

// finalizerRemoved passes updates by which others have taken away our finalizer: a replace of a manifest does so, and does
// not change the generation.
func finalizerRemoved() predicate.TypedPredicate[*networkingv1.ExternalService] {
	return predicate.TypedFuncs[*networkingv1.ExternalService]{
		UpdateFunc: func(e event.TypedUpdateEvent[*networkingv1.ExternalService]) bool {
			return e.ObjectNew.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(e.ObjectOld, rules.UnpublishFinalizer) &&
				!controllerutil.ContainsFinalizer(e.ObjectNew, rules.UnpublishFinalizer)
		},
	}
}

// requestsOf returns the Services that a slice names: in its label, which any user may change, and as its
// owner.
func requestsOf(slice *discoveryv1.EndpointSlice) []reconcile.Request {
	var requests []reconcile.Request
	label := slice.Labels[discoveryv1.LabelServiceName]
	if label != "" {
		requests = request(slice.Namespace, label)
	}
	return append(requests, requestsOfOwner(slice, label)...)
}

// requestsOfOwner returns the Service that owns an object, unless it is the one that is known.
func requestsOfOwner(o client.Object, known string) []reconcile.Request {
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "Service" && owner.Name != known {
		return request(o.GetNamespace(), owner.Name)
	}
	return nil
}

func request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
