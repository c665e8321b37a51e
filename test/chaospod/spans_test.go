// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"slices"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// span is a disruption that a status tells of, from the version of the API server that has it first to
// the one that has it no more. All kinds are in one store, whose versions have one order.
type span struct {
	who      string
	from, to uint64
}

// deed is something that disrupts: the change of a pod template, or the end of a pod.
type deed struct {
	what string
	at   uint64
}

// spans follows what the API server tells of the namespace, and returns the disruptions that have ended
// and all deeds.
func (s *scene) spans() func() ([]span, []deed) {
	s.Helper()
	var mu sync.Mutex
	began := map[string]uint64{}
	ending := map[types.UID]bool{}
	generations := map[types.UID]int64{}
	var spans []span
	var deeds []deed
	note := func(who string, disrupts bool, at uint64) {
		from, open := began[who]
		switch {
		case disrupts && !open:
			began[who] = at
		case !disrupts && open:
			spans = append(spans, span{who, from, at})
			delete(began, who)
		}
	}
	var deployments appsv1.DeploymentList
	s.must(s.client.List(s.Context(), &deployments, client.InNamespace(s.namespace)))
	for i := range deployments.Items {
		generations[deployments.Items[i].UID] = deployments.Items[i].Generation
	}
	for _, list := range []client.ObjectList{&chaosv1.ChaosPodList{}, &autorebootv1.RebootPolicyList{}, &corev1.PodList{}, &appsv1.DeploymentList{}} {
		changes, err := s.client.Watch(s.Context(), list, client.InNamespace(s.namespace),
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: deployments.ResourceVersion}})
		s.must(err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for change := range changes.ResultChan() {
				object, ok := change.Object.(client.Object)
				if !ok {
					continue
				}
				at, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
				if err != nil {
					s.Errorf("the version of %s: %v", object.GetName(), err)
				}
				mu.Lock()
				switch o := object.(type) {
				case *chaosv1.ChaosPod:
					note("ChaosPod "+o.Name, o.Status.CurrentRun != nil, at)
				case *autorebootv1.RebootPolicy:
					note("RebootPolicy "+o.Name, len(o.Status.InFlight) > 0, at)
				case *corev1.Pod:
					if !o.DeletionTimestamp.IsZero() && !ending[o.UID] {
						ending[o.UID] = true
						deeds = append(deeds, deed{"end of pod " + o.Name, at})
					}
				case *appsv1.Deployment:
					if o.Generation > generations[o.UID] {
						generations[o.UID] = o.Generation
						deeds = append(deeds, deed{"rollout", at})
					}
				}
				mu.Unlock()
			}
		}()
		s.Cleanup(func() { changes.Stop(); <-done })
	}
	return func() ([]span, []deed) {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(spans), slices.Clone(deeds)
	}
}
