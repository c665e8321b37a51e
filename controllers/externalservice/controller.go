// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
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
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Name of the controller in logs, metrics and events.
const Name = "externalservice"

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

	// Policy says which addresses may be published and checked. Required. When its verdicts may
	// have changed, call Controller.Again.
	Policy Policy
	// Lookup asks what a name leads to. Required.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Ping asks whether any nameserver answers. The default guesses by the lookups.
	Ping func(ctx context.Context) bool
	// Dial opens the connections of health checks. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Reference says whether this process reaches what no tenant has a say in; it ends when ctx does.
	// The default is that it does.
	Reference func(ctx context.Context) bool
	// OnSuspect is told when failed checks begin and cease to be taken for a fault of this process,
	// and why. It must not block. The default tells no one.
	OnSuspect func(suspect bool, cause string)
	// Secrets reads the Secrets that health checks name. The default is the cluster's API reader.
	Secrets client.Reader
	// DrainPeriod is how long the endpoints of a deleted object stand as terminating before its
	// Service goes. The default, 0, does not wait.
	DrainPeriod time.Duration
	// Freeze knows the blackouts of the cluster, in which no fault is injected. The default is that there
	// are none.
	Freeze *freeze.Freeze
	// WebhookExemptNamespaces are the namespaces that admission is not called for. No fault is injected in them.
	WebhookExemptNamespaces []string
	// ResolveWorkers is how many names are looked up at once. The default is 64.
	ResolveWorkers int
	// ProbeWorkers is how many health checks run at once. The default is 1024.
	ProbeWorkers int
	// Registerer takes the metrics. The default takes none.
	Registerer prometheus.Registerer
	// Wrap returns what is called in place of the reconciler, and calls it. The default is the
	// reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Controller reconciles ExternalServices, and looks up and checks what they name.
type Controller struct {
	controller controller.Controller
	reconciler *Reconciler
	tracker    *resolution.Tracker
	prober     *probe.Prober
	enqueuer   *controller.Enqueuer
}

// New makes the controller. The caller starts it, once this replica leads, and sees that the
// cluster's cache runs.
func New(ctx context.Context, c cluster.Cluster, o Options) (*Controller, error) {
	if o.Policy == nil || o.Lookup == nil || o.Dial == nil {
		return nil, errors.New("controller " + Name + ": Policy, Lookup and Dial are required")
	}
	if o.Secrets == nil {
		o.Secrets = c.GetAPIReader()
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
		Client: c.GetClient(), Live: c.GetAPIReader(), Secrets: o.Secrets,
		Events: c.GetEventRecorder("fairlead-" + Name), Now: time.Now,
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
		Concurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout, Warmup: o.Warmup, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := watch(ctx, c, reconciling, enqueuer); err != nil {
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

// EnqueueAll has every object reconciled once more, since what the policy says may have changed. It does
// not block.
func (c *Controller) EnqueueAll() {
	for _, key := range c.reconciler.states.keys() {
		c.enqueuer.Enqueue(key)
	}
}

// Resolution knows what DNS names lead to.
type Resolution interface {
	// Set says which names an object has, and returns what is known of them, in their order.
	Set(key types.NamespacedName, names []resolution.Name) []resolution.State
	// ResolvedTime is when a name last resolved: a lookup that changes nothing reconciles nothing.
	ResolvedTime(key types.NamespacedName, endpoint string) time.Time
	// Forget drops the names of an object.
	Forget(key types.NamespacedName)
}

// Probes know which addresses are healthy.
type Probes interface {
	// Set says what the targets of an object are, and returns the health of each, in their order.
	Set(key types.NamespacedName, check probe.Check, targets []probe.Target) []probe.Health
	// Forget drops the targets of an object.
	Forget(key types.NamespacedName)
	// IsFrozen says whether failures decide nothing now for the targets of an object.
	IsFrozen(key types.NamespacedName) bool
}

// Policy says which addresses may be published and checked.
type Policy interface {
	// CheckPorts judges an address together with the ports that it is published with.
	CheckPorts(query egress.Query, ports []uint16) egress.Verdict
}

var (
	_ Resolution = (*resolution.Tracker)(nil)
	_ Probes     = (*probe.Prober)(nil)
	_ Policy     = (*egress.Policy)(nil)
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
