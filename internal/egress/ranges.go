// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
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
	// Host is that of rest.Config. It counts as the API server if it is an IP address. Defaults to none.
	Host string
	// Settle is how long changes are collected before the policy is updated. Defaults to 250ms.
	Settle time.Duration
	// Recheck is how often an API server without ServiceCIDRs is checked again: it may be upgraded. Defaults to 10m.
	Recheck time.Duration
	// Retry is the wait after that check has failed. Defaults to 2s.
	Retry time.Duration
	// Logger defaults to logr.Discard().
	Logger logr.Logger
}

// Ranges updates a Policy with the ranges of the cluster: addresses and pod ranges of nodes, the ranges of Services,
// and the API server. It runs on every replica, since the webhooks use the policy as well.
type Ranges struct {
	options RangesOptions
	dirty   chan struct{}
	synced  chan struct{}
	watches sync.WaitGroup

	mu                sync.Mutex
	informers         []*rangeInformer
	serviceCIDRsKnown bool // whether there are ServiceCIDRs is known
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
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Policy.clearRanges()
	return &Ranges{options: o, dirty: make(chan struct{}, 1), synced: make(chan struct{})}, nil
}

// Synced returns a channel that is closed once the policy has all ranges.
func (r *Ranges) Synced() <-chan struct{} { return r.synced }

// Run watches until ctx ends, and returns once all its goroutines have ended. It is called once.
func (r *Ranges) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, r.options.Logger))
	defer r.watches.Wait()
	defer cancel()
	if r.options.WithoutCluster {
		r.setServiceCIDRsKnown()
		r.updatePolicy(ctx)
		return nil
	}
	for _, start := range []func(kubernetes.Interface) (*rangeInformer, error){nodeInformer, apiServerServiceInformer, apiServerEndpointsInformer} {
		if err := r.startInformer(ctx, start); err != nil {
			return err
		}
	}
	r.watches.Go(func() { panics.Go("egress ranges", func() { r.watchServiceCIDRs(ctx) }) })
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
		ranges, complete := r.collect()
		if !complete {
			continue
		}
		if r.options.Policy.update(ranges) {
			r.options.Logger.V(1).Info("The ranges of the cluster changed", "ranges", len(ranges))
		}
		if first {
			first = false
			close(r.synced)
		}
	}
}

// collect returns the ranges of all informers. complete is false while one has not synced.
func (r *Ranges) collect() (ranges []Range, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.serviceCIDRsKnown {
		return nil, false
	}
	for _, f := range r.informers {
		if !f.informer.HasSynced() {
			return nil, false
		}
		ranges = f.appendRanges(ranges)
	}
	return append(ranges, hostRanges(r.options.Host)...), true
}
