// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// interest is what one policy wants to hear of in its namespace.
type interest struct {
	workloads        map[workloadName]bool
	selectors        []kindSelector
	externalServices map[string]bool
	chaosPods        map[string]bool
	// blockers select the pods of the gates NoPods.
	blockers []labels.Selector
	// owners are the workloads and ReplicaSets whose pods the policy has looked at.
	owners map[types.UID]bool
}

type workloadName struct {
	kind autorebootv1.TargetKind
	name string
}

type kindSelector struct {
	kind     autorebootv1.TargetKind
	selector labels.Selector
}

// interestOf reads a spec. A selector that does not compile selects nothing; the rules say so.
func interestOf(spec *autorebootv1.RebootPolicySpec) *interest {
	i := &interest{workloads: map[workloadName]bool{}, externalServices: map[string]bool{}, chaosPods: map[string]bool{}}
	for n := range spec.Targets {
		t := &spec.Targets[n]
		if t.Selector == nil {
			i.workloads[workloadName{t.Kind, t.Name}] = true
		} else if selector, err := t.Selector.Selector(); err == nil {
			i.selectors = append(i.selectors, kindSelector{t.Kind, selector})
		}
	}
	for n := range spec.Gates {
		switch g := &spec.Gates[n]; g.Type {
		case autorebootv1.GateExternalServiceHealthy:
			i.externalServices[g.Name] = true
		case autorebootv1.GateWorkloadAvailable:
			i.workloads[workloadName{g.Kind, g.Name}] = true
		case autorebootv1.GateChaosSurvived:
			i.chaosPods[g.Name] = true
		case autorebootv1.GateNoPods:
			if selector, err := g.Selector.Selector(); err == nil {
				i.blockers = append(i.blockers, selector)
			}
		}
	}
	for n := range spec.Triggers {
		if e := spec.Triggers[n].EndpointsChange; e != nil {
			i.externalServices[e.ExternalServiceName] = true
		}
	}
	return i
}

// interests are those of all policies, by namespace: an event costs as much as there are policies in
// its namespace, and nothing where there are none.
type interests struct {
	mu  sync.RWMutex
	all map[string]map[string]*interest
}

// set must come before the state is read: what happens after that is heard of.
func (is *interests) set(policy types.NamespacedName, wanted *interest) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.all == nil {
		is.all = map[string]map[string]*interest{}
	}
	if is.all[policy.Namespace] == nil {
		is.all[policy.Namespace] = map[string]*interest{}
	}
	if known := is.all[policy.Namespace][policy.Name]; known != nil {
		wanted.owners = known.owners
	}
	is.all[policy.Namespace][policy.Name] = wanted
}

// own says whose pods a policy looks at. It, too, must come before the pods are read.
func (is *interests) own(policy types.NamespacedName, owners map[types.UID]bool) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if known := is.all[policy.Namespace][policy.Name]; known != nil {
		known.owners = owners
	}
}

func (is *interests) drop(policy types.NamespacedName) {
	is.mu.Lock()
	defer is.mu.Unlock()
	delete(is.all[policy.Namespace], policy.Name)
	if len(is.all[policy.Namespace]) == 0 {
		delete(is.all, policy.Namespace)
	}
}

// any says whether a namespace has a policy.
func (is *interests) any(namespace string) bool {
	is.mu.RLock()
	defer is.mu.RUnlock()
	return len(is.all[namespace]) > 0
}

// in returns the policies of a namespace that care.
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

// everything are all policies.
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

func (i *interest) inWorkload(kind autorebootv1.TargetKind, name string, uid types.UID, set labels.Set) bool {
	if i.workloads[workloadName{kind, name}] || i.owners[uid] {
		return true
	}
	for _, s := range i.selectors {
		if s.kind == kind && s.selector.Matches(set) {
			return true
		}
	}
	return false
}

func (i *interest) inPod(owner types.UID, set labels.Set) bool {
	if i.owners[owner] {
		return true
	}
	for _, selector := range i.blockers {
		if selector.Matches(set) {
			return true
		}
	}
	return false
}
