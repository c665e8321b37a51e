// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// queue is the argument of event handlers.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// watchSet lists the objects of its namespace that one policy watches.
type watchSet struct {
	workloads        map[workloadName]bool
	selectors        []kindSelector
	externalServices map[string]bool
	chaosPods        map[string]bool
	// dependencies are the ExternalServices that the workloads declare that they need.
	dependencies map[string]bool
	// blockers select the pods of the gates NoPods.
	blockers []labels.Selector
	// hasOptional means that a target is of a kind that a cluster need not have.
	hasOptional bool
	// owners are the workloads and ReplicaSets whose pods the policy reads.
	owners map[types.UID]bool
}

type workloadName struct {
	kind common.WorkloadKind
	name string
}

// kindSelector selects workloads of a kind.
type kindSelector struct {
	kind     common.WorkloadKind
	selector labels.Selector
}

// watchSetOf returns what a spec names. A selector that is invalid selects nothing; validation reports it.
func watchSetOf(spec *autorebootv1.RebootPolicySpec) *watchSet {
	w := &watchSet{
		workloads: map[workloadName]bool{}, externalServices: map[string]bool{}, chaosPods: map[string]bool{},
		hasOptional: len(rules.OptionalKinds(spec)) > 0,
	}
	for n := range spec.Targets {
		t := &spec.Targets[n]
		if t.Selector == nil {
			w.workloads[workloadName{rules.KindsOf(t)[0], t.Name}] = true
		} else if selector, err := t.Selector.Selector(); err == nil {
			for _, kind := range rules.KindsOf(t) {
				w.selectors = append(w.selectors, kindSelector{kind, selector})
			}
		}
	}
	for n := range spec.Gates {
		switch g := &spec.Gates[n]; {
		case g.Condition != nil:
			w.addObject(g.Condition)
		case g.NoPods != nil:
			if selector, err := g.NoPods.Selector.Selector(); err == nil {
				w.blockers = append(w.blockers, selector)
			}
		}
	}
	for n := range spec.Triggers {
		if e := spec.Triggers[n].EndpointsChange; e != nil {
			w.externalServices[e.ExternalServiceName] = true
		}
	}
	return w
}

// addObject adds the object of a gate, if it is of a kind that is watched. A fault may be injected into an ExternalService, whatever
// version a gate names it at.
func (w *watchSet) addObject(c *autorebootv1.ObjectCondition) {
	switch cachedObject(c).(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.DaemonSet:
		w.workloads[workloadName{common.WorkloadKind(c.Kind), c.Name}] = true
	case *chaosv1.ChaosPod:
		w.chaosPods[c.Name] = true
	}
	if rules.IsExternalService(c) {
		w.externalServices[c.Name] = true
	}
}

func (w *watchSet) matchesWorkload(kind common.WorkloadKind, name string, uid types.UID, set labels.Set) bool {
	if w.workloads[workloadName{kind, name}] || w.owners[uid] {
		return true
	}
	for _, s := range w.selectors {
		if s.kind == kind && s.selector.Matches(set) {
			return true
		}
	}
	return false
}

func (w *watchSet) matchesPod(owner types.UID, set labels.Set) bool {
	if w.owners[owner] {
		return true
	}
	for _, selector := range w.blockers {
		if selector.Matches(set) {
			return true
		}
	}
	return false
}

func (w *watchSet) matchesBlocked(all []chaosv1.BlockedWorkload) bool {
	return slices.ContainsFunc(all, func(b chaosv1.BlockedWorkload) bool { return w.owners[b.UID] })
}
