// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// view is what the API server has, as watches bring it.
type view struct {
	cancel      context.CancelFunc
	factories   []informers.SharedInformerFactory
	slices      cache.Indexer
	deployments appslisters.DeploymentLister
	leases      coordinationlisters.LeaseNamespaceLister
}

// byService is the index of EndpointSlices by namespace/name of their Service.
const byService = "service"

// newView returns one that has everything that there is now.
func newView(ctx context.Context, client kubernetes.Interface) (*view, error) {
	ctx, cancel := context.WithCancel(ctx)
	all := informers.NewSharedInformerFactory(client, 0)
	operator := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(framework.Namespace))
	published := all.Discovery().V1().EndpointSlices().Informer()
	v := &view{
		cancel: cancel, factories: []informers.SharedInformerFactory{all, operator}, slices: published.GetIndexer(),
		deployments: all.Apps().V1().Deployments().Lister(),
		leases:      operator.Coordination().V1().Leases().Lister().Leases(framework.Namespace),
	}
	err := published.AddIndexers(cache.Indexers{byService: func(object any) ([]string, error) {
		slice, ok := object.(*discoveryv1.EndpointSlice)
		if !ok {
			return nil, fmt.Errorf("%T is no EndpointSlice", object)
		}
		return []string{slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]}, nil
	}})
	if err != nil {
		cancel()
		return nil, err
	}
	for _, factory := range v.factories {
		factory.StartWithContext(ctx)
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				v.close()
				return nil, fmt.Errorf("watch %s: %w", kind, context.Cause(ctx))
			}
		}
	}
	return v, nil
}

func (v *view) close() {
	v.cancel()
	for _, factory := range v.factories {
		factory.Shutdown()
	}
}

// endpoints returns the addresses of a Service that are ready.
func (v *view) endpoints(namespace, service string) ([]netip.Addr, error) {
	found, err := v.slices.ByIndex(byService, namespace+"/"+service)
	if err != nil {
		return nil, err
	}
	return readyIn(found)
}

// ready is how many addresses of all Services that Fairlead publishes are ready.
func (v *view) ready() int {
	n := 0
	for _, object := range v.slices.List() {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok && slice.Labels[discoveryv1.LabelManagedBy] == "fairlead.dev" {
			if ready, err := readyIn([]any{slice}); err == nil {
				n += len(ready)
			}
		}
	}
	return n
}

func readyIn(slices []any) (all []netip.Addr, err error) {
	for _, object := range slices {
		slice, ok := object.(*discoveryv1.EndpointSlice)
		if !ok {
			return nil, fmt.Errorf("%T is no EndpointSlice", object)
		}
		for i := range slice.Endpoints {
			if !ptr.Deref(slice.Endpoints[i].Conditions.Ready, true) {
				continue
			}
			for _, text := range slice.Endpoints[i].Addresses {
				address, err := netip.ParseAddr(text)
				if err != nil {
					return nil, err
				}
				all = append(all, address)
			}
		}
	}
	return all, nil
}

// holder is the shard that has claimed a namespace; "" if none has.
func (v *view) holder(namespace string) string {
	lease, err := v.leases.Get("fairlead-namespace-" + namespace)
	if err != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func (v *view) deployment(n int) (*appsv1.Deployment, error) {
	return v.deployments.Deployments(namespace(n)).Get(workload(n))
}

// rolling is whether a rollout of a Deployment has not ended.
func rolling(d *appsv1.Deployment) bool {
	s := &d.Status
	return s.ObservedGeneration < d.Generation || s.Replicas != 1 || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1
}

// restartsOf is how often the template of a Deployment was written since it was made, or how many more ReplicaSets than
// the first were made for it: whichever is more.
func restartsOf(d *appsv1.Deployment) int {
	revision, err := strconv.Atoi(d.Annotations["deployment.kubernetes.io/revision"])
	if err != nil {
		revision = 1
	}
	return max(int(d.Generation), revision) - 1
}
