// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// watchSet is what one policy wants to hear of in its namespace.
type watchSet struct {
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

// watchSetOf reads a spec. A selector that does not compile selects nothing; the rules say so.
func watchSetOf(spec *autorebootv1.RebootPolicySpec) *watchSet {
	i := &watchSet{workloads: map[workloadName]bool{}, externalServices: map[string]bool{}, chaosPods: map[string]bool{}}
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

// updateWatchSet notes what a policy wants to hear of. Whose pods it looks at stays.
func (r *Reconciler) updateWatchSet(policy types.NamespacedName, wanted *watchSet) {
	if known := r.watchIndex.Get(policy); known != nil {
		wanted.owners = known.owners
	}
	r.watchIndex.Set(policy, wanted)
}

// updateOwners notes whose pods a policy looks at.
func (r *Reconciler) updateOwners(policy types.NamespacedName, owners map[types.UID]bool) {
	if known := r.watchIndex.Get(policy); known != nil {
		wanted := *known
		wanted.owners = owners
		r.watchIndex.Set(policy, &wanted)
	}
}

func (i *watchSet) matchesWorkload(kind autorebootv1.TargetKind, name string, uid types.UID, set labels.Set) bool {
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

func (i *watchSet) matchesPod(owner types.UID, set labels.Set) bool {
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

func (i *watchSet) matchesBlocked(all []chaosv1.BlockedWorkload) bool {
	return slices.ContainsFunc(all, func(b chaosv1.BlockedWorkload) bool { return i.owners[b.UID] })
}
