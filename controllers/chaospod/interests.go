// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// interest is what one ChaosPod wants to hear of in its namespace.
type interest struct {
	workloads map[workloadName]bool
	// owners are the workloads and ReplicaSets whose pods the ChaosPod has looked at.
	owners map[types.UID]bool
	// selector is that of the target; nil where it has none.
	selector labels.Selector
	// pod is the canary's name; empty where there is none.
	pod string
}

// inPod says whether a pod matters.
func (i *interest) inPod(p *corev1.Pod) bool {
	return i.pod != "" && p.Name == i.pod || i.owners[workloads.ControllerOf(p)] ||
		i.selector != nil && i.selector.Matches(labels.Set(p.Labels))
}

// interests are those of all ChaosPods, by namespace.
type interests struct {
	mu  sync.RWMutex
	all map[string]map[string]*interest
}

// set replaces an interest, which is not changed from then on.
func (is *interests) set(key types.NamespacedName, wanted *interest) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.all == nil {
		is.all = map[string]map[string]*interest{}
	}
	if is.all[key.Namespace] == nil {
		is.all[key.Namespace] = map[string]*interest{}
	}
	is.all[key.Namespace][key.Name] = wanted
}

func (is *interests) drop(key types.NamespacedName) {
	is.mu.Lock()
	defer is.mu.Unlock()
	delete(is.all[key.Namespace], key.Name)
	if len(is.all[key.Namespace]) == 0 {
		delete(is.all, key.Namespace)
	}
}

// in are the ChaosPods of a namespace that care.
func (is *interests) in(namespace string, cares func(*interest) bool) []types.NamespacedName {
	is.mu.RLock()
	defer is.mu.RUnlock()
	var keys []types.NamespacedName
	for name, i := range is.all[namespace] {
		if cares(i) {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// everything are all ChaosPods.
func (is *interests) everything() []types.NamespacedName {
	is.mu.RLock()
	defer is.mu.RUnlock()
	var keys []types.NamespacedName
	for namespace, of := range is.all {
		for name := range of {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}
