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
	// Policy that is kept informed. Required.
	Policy *Policy
	// Client reads Nodes, ServiceCIDRs, and the Service and EndpointSlices of the API server. Nodes
	// are large: one that speaks protobuf spares most of the work. Required.
	Client kubernetes.Interface
	// Host is how the operator itself reaches the API server, as in rest.Config. It counts as the API
	// server where it is an IP address. Default: unknown.
	Host string
	// Settle is how long changes are gathered before the policy learns of them. Default 250ms.
	Settle time.Duration
	// Recheck is how often an API server that had no ServiceCIDRs is asked again: it may have been
	// upgraded. Default 10m.
	Recheck time.Duration
	// Retry is the pause after an API server that failed to say whether it has ServiceCIDRs. Default 2s.
	Retry time.Duration
	// Logger is told what is missing, and what changed. Defaults to logr.Discard().
	Logger logr.Logger
}

// Ranges keeps a Policy informed of where the cluster is: the addresses and pod ranges of nodes, the
// ranges of Services, and the API server. It runs on every replica, since webhooks ask as well.
type Ranges struct {
	options RangesOptions
	dirty   chan struct{}
	synced  chan struct{}
	watches sync.WaitGroup

	mu                sync.Mutex
	informers         []*rangeInformer
	serviceCIDRsKnown bool // whether there are ServiceCIDRs is known
}

// NewRanges makes a Ranges. From now on the policy denies everything, until Run has read all ranges.
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

// Synced is closed once the policy knows all ranges.
func (r *Ranges) Synced() <-chan struct{} { return r.synced }

// Run watches until ctx ends, and returns once everything that it started has ended. It is called
// once.
func (r *Ranges) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, r.options.Logger))
	defer r.watches.Wait()
	defer cancel()
	for _, start := range []func(kubernetes.Interface) (*rangeInformer, error){nodeInformer, apiServerServiceInformer, apiServerEndpointsInformer} {
		if err := r.startInformer(ctx, start); err != nil {
			return err
		}
	}
	r.watches.Go(func() { panics.Go("egress ranges", func() { r.watchServiceCIDRs(ctx) }) })
	r.updatePolicy(ctx)
	return nil
}

// startInformer starts a feed.
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

// watchServiceCIDRs follows ServiceCIDRs as soon as the API server has them (Kubernetes 1.33).
func (r *Ranges) watchServiceCIDRs(ctx context.Context) {
	told := false
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
			if !told {
				told = true
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

// markDirty has publish look again. It never blocks.
func (r *Ranges) markDirty() {
	select {
	case r.dirty <- struct{}{}:
	default: // it will look anyway
	}
}

// updatePolicy brings changes to the policy, gathered for a moment: a rolling update of nodes is many
// events. The first time it does not wait.
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

// collect gathers what all feeds hold; complete is false while some has not listed yet.
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
