// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// RangesOptions of a Ranges.
type RangesOptions struct {
	// Policy to update. Required.
	Policy *Policy
	// WithoutCluster reads nothing: Host and the ClusterCIDRs of the policy are all that is known of the cluster. For
	// an operator without the right to list what lies in no namespace. Defaults to false.
	WithoutCluster bool
	// Client reads Nodes, ServiceCIDRs, and the Service and EndpointSlices of the API server. Nodes are large: it
	// should use protobuf. Required.
	Client kubernetes.Interface
	// Host is the host of rest.Config. It counts as the API server if it is an IP address. Defaults to none.
	Host string
	// Settle is how long changes are collected before the policy is updated. Defaults to 250ms.
	Settle time.Duration
	// Recheck is how often an API server without ServiceCIDRs is checked again: it may be upgraded. Defaults to 10m.
	Recheck time.Duration
	// Retry is the wait after that check has failed. Defaults to 2s.
	Retry time.Duration
	// PodsTimeout is how long nothing is decided because pods have not been read. After it, private addresses are
	// denied until they are, unless the ranges of pods are known. Defaults to 10s.
	PodsTimeout time.Duration
	// Logger defaults to logr.Discard().
	Logger logr.Logger
	// Registerer of the metrics. Defaults to none.
	Registerer prometheus.Registerer
}

// Ranges updates a Policy with the ranges of the cluster: addresses and pod ranges of nodes, the ranges of Services,
// the API server, and the addresses that pods have now. It runs on every replica, since the webhooks use the policy as well.
type Ranges struct {
	options RangesOptions
	dirty   chan struct{}
	synced  chan struct{}
	watches sync.WaitGroup
	pods    *podAddresses
	moved   *addressQueue

	mu                sync.Mutex
	informers         []*rangeInformer
	serviceCIDRsKnown bool // whether there are ServiceCIDRs is known
	podsTried         bool // pods have been read, or could not be in time
}

// NewRanges returns a Ranges. From now on the policy denies everything, until Run has read all ranges.
func NewRanges(o RangesOptions) (*Ranges, error) {
	if o.Policy == nil || o.Client == nil {
		return nil, errors.New("ranges of the cluster: Policy and Client are required")
	}
	if o.Settle <= 0 {
		o.Settle = 250 * time.Millisecond
	}
	if o.Recheck <= 0 {
		o.Recheck = 10 * time.Minute
	}
	if o.Retry <= 0 {
		o.Retry = 2 * time.Second
	}
	if o.PodsTimeout <= 0 {
		o.PodsTimeout = 10 * time.Second
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Policy.clearRanges()
	r := &Ranges{options: o, dirty: make(chan struct{}, 1), synced: make(chan struct{}), moved: newAddressQueue()}
	if !o.WithoutCluster {
		r.pods = newPodAddresses(r.podMoved)
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(podsKnown(o.Policy)); err != nil {
			return nil, fmt.Errorf("ranges of the cluster: %w", err)
		}
	}
	return r, nil
}

func podsKnown(policy *Policy) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fairlead_egress_pods_known",
		Help: "Whether the addresses or the ranges of pods are known: 1; otherwise 0, and new private addresses are denied.",
	}, func() float64 {
		if cluster := policy.cluster.Load(); cluster != nil && !cluster.podsUnknown {
			return 1
		}
		return 0
	})
}

// Synced returns a channel that is closed once the policy has all ranges.
func (r *Ranges) Synced() <-chan struct{} { return r.synced }

// Run watches until ctx ends, and returns once all its goroutines have ended. It is called once.
func (r *Ranges) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, r.options.Logger))
	defer r.watches.Wait()
	defer cancel()
	if r.options.WithoutCluster {
		r.podsTried = true
		r.setServiceCIDRsKnown()
		r.updatePolicy(ctx)
		return nil
	}
	for _, start := range []func(kubernetes.Interface) (*rangeInformer, error){nodeInformer, apiServerServiceInformer,
		apiServerEndpointsInformer} {
		if err := r.startInformer(ctx, start); err != nil {
			return err
		}
	}
	r.watches.Go(func() { panics.Go("egress ranges", func() { r.watchServiceCIDRs(ctx) }) })
	r.watches.Go(func() {
		panics.Go("egress ranges", func() { podReflector(r.options.Client, r.pods).RunWithContext(ctx) })
	})
	r.watches.Go(func() { panics.Go("egress ranges", func() { r.waitForPods(ctx) }) })
	r.watches.Go(func() { panics.Go("egress ranges", func() { r.notifyOfPods(ctx) }) })
	r.updatePolicy(ctx)
	return nil
}

// startInformer starts an informer.
func (r *Ranges) startInformer(ctx context.Context, start func(kubernetes.Interface) (*rangeInformer, error)) error {
	f, err := start(r.options.Client)
	if err != nil {
		return err
	}
	if err := f.onChange(r.markDirty); err != nil {
		return err
	}
	r.mu.Lock()
	r.informers = append(r.informers, f)
	r.mu.Unlock()
	r.watches.Go(func() { panics.Go("egress ranges", func() { f.informer.RunWithContext(ctx) }) })
	r.watches.Go(func() {
		select {
		case <-f.informer.HasSyncedChecker().Done():
			r.markDirty() // it may have found nothing, and that is no event
		case <-ctx.Done():
		}
	})
	return nil
}

// waitForPods has the policy decide once pods have been read, or cannot be in time, and again once they are.
func (r *Ranges) waitForPods(ctx context.Context) {
	tried := func() {
		r.mu.Lock()
		r.podsTried = true
		r.mu.Unlock()
		r.markDirty()
	}
	select {
	case <-ctx.Done():
		return
	case <-r.pods.firstRead:
	case <-time.After(r.options.PodsTimeout):
		r.options.Logger.Info("Pods cannot be read, and their addresses are not known; may the service account list pods in all namespaces? Until they are read, private addresses are denied unless nodes have podCIDRs or egress.clusterCIDRs has the ranges of pods",
			"waited", r.options.PodsTimeout.String())
		tried()
	}
	select {
	case <-ctx.Done():
	case <-r.pods.firstRead:
		tried()
	}
}

// podMoved is called with an address that became a pod's, or is one's no longer. Within a range it changes no verdict.
func (r *Ranges) podMoved(ip netip.Addr) {
	if cluster := r.options.Policy.cluster.Load(); cluster != nil && r.pods.areKnown() && !cluster.isInRange(ip) {
		r.moved.add(ip)
	}
}

// notifyOfPods notifies of addresses of pods, collected for Settle.
func (r *Ranges) notifyOfPods(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.moved.filled:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.options.Settle):
		}
		addresses, all := r.moved.take()
		switch o := r.options.Policy.options; {
		case all && o.Notify != nil:
			o.Notify()
		case !all && o.NotifyAddresses != nil:
			o.NotifyAddresses(addresses)
		}
	}
}

// watchServiceCIDRs watches ServiceCIDRs as soon as the API server has them (Kubernetes 1.33).
func (r *Ranges) watchServiceCIDRs(ctx context.Context) {
	logged := false
	for {
		pause := r.options.Recheck
		_, err := r.options.Client.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil:
			if err := r.startInformer(ctx, serviceCIDRInformer); err != nil {
				r.options.Logger.Error(err, "ServiceCIDRs are not followed")
				return
			}
			r.setServiceCIDRsKnown()
			return
		case apierrors.IsNotFound(err):
			if !logged {
				logged = true
				r.options.Logger.Info("The API server has no ServiceCIDRs, which came with Kubernetes 1.33: of the range of Services only the API server's own is known; put the whole range into egress.clusterCIDRs")
			}
			r.setServiceCIDRsKnown()
		case ctx.Err() == nil:
			pause = r.options.Retry
			r.options.Logger.Error(err, "ServiceCIDRs cannot be read; may the service account list servicecidrs.networking.k8s.io?")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (r *Ranges) setServiceCIDRsKnown() {
	r.mu.Lock()
	r.serviceCIDRsKnown = true
	r.mu.Unlock()
	r.markDirty()
}

// markDirty has updatePolicy run again. It never blocks.
func (r *Ranges) markDirty() {
	select {
	case r.dirty <- struct{}{}:
	default: // it will run anyway
	}
}

// updatePolicy updates the policy after changes, collected for Settle: a rolling update of nodes is many events. The
// first update does not wait.
func (r *Ranges) updatePolicy(ctx context.Context) {
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
		}
		if !first {
			select {
			case <-ctx.Done():
				return
			case <-time.After(r.options.Settle):
			}
			select {
			case <-r.dirty:
			default:
			}
		}
		discovered, complete := r.collect()
		if !complete {
			continue
		}
		if r.options.Policy.update(discovered) {
			r.options.Logger.V(1).Info("The ranges of the cluster changed", "ranges", len(discovered.ranges))
		}
		if first {
			first = false
			close(r.synced)
		}
	}
}

// collect returns what is known of the cluster. complete is false while an informer has not synced.
func (r *Ranges) collect() (discovered discovery, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.serviceCIDRsKnown || !r.podsTried {
		return discovery{}, false
	}
	discovered.pods = r.pods
	for _, f := range r.informers {
		if !f.informer.HasSynced() {
			return discovery{}, false
		}
		discovered.ranges = f.appendRanges(discovered.ranges)
	}
	hasRanges := len(r.options.Policy.options.ClusterCIDRs) > 0 ||
		slices.ContainsFunc(discovered.ranges, func(known Range) bool { return known.Reason == ReasonPod })
	discovered.podsUnknown = !hasRanges && (r.pods == nil || !r.pods.areKnown())
	discovered.ranges = append(discovered.ranges, hostRanges(r.options.Host)...)
	return discovered, true
}
