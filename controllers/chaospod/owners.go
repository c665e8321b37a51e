// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
)

// shared reads objects as the cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// observe finds out what there is to know, from the cache or live.
func (r *Reconciler) observe(ctx context.Context, s *observation, live bool) chaos.Observation {
	frozen := r.Freeze.State()
	s.blackoutsUnknown = frozen.Unknown != ""
	o := chaos.Observation{Now: s.now, Schedule: s.state.schedule.With(frozen.Blackouts), BlockedBy: s.blockedBy, Suspect: r.Suspicions.Any()}
	v := &view{from: r.Client, live: r.Live, isLive: live, namespace: s.key.Namespace, nodes: map[string]bool{}, targets: map[workloadName]bool{}}
	if live {
		v.from = r.Live
	}
	if s.blackoutsUnknown {
		o.Unknown = frozen.Message(s.now)
	}
	if s.spec.Spec.Target.Template != nil {
		o.Canary = r.canary(ctx, s, v)
		return o
	}
	if live && s.spec.Spec.Safety != nil && ptr.Deref(s.spec.Spec.Safety.RequireDisruptionBudget, false) {
		if err := v.readBudgets(ctx); err != nil {
			o.Unknown = err.Error()
		}
	}
	wanted, missing, err := r.watchedWorkloads(ctx, s, v)
	switch {
	case err != nil:
		o.Unknown = err.Error()
	default:
		o.Missing = missing
	}
	faults, err := dependence.Faults(ctx, r.Client, s.key.Namespace)
	if err != nil {
		o.Unknown = err.Error()
	}
	watched := &watchSet{owners: map[types.UID]bool{}, workloads: map[workloadName]bool{}, selector: v.selector}
	if w := s.spec.Spec.Target.Workload; w != nil {
		watched.workloads[workloadName{string(w.Kind), w.Name}] = true
	}
	for _, name := range wanted {
		watched.workloads[name] = true
	}
	for _, name := range wanted {
		owner, through := v.owner(ctx, name)
		if owner == nil {
			continue // it is gone
		}
		if owner.UID == "" { // it cannot be read, and may be one that a run under way waits for
			o.Unknown = owner.Unknown
			continue
		}
		for _, uid := range through {
			watched.owners[uid] = true
		}
		owner.Fault = faults[dependence.Workload{Kind: name.kind, Name: name.name}]
		o.Owners = append(o.Owners, *owner)
	}
	r.watchIndex.Set(s.key, watched)
	return o
}

// watchedWorkloads are the workloads of the target and those whose pods are victims of the run under way, each
// once.
func (r *Reconciler) watchedWorkloads(ctx context.Context, o *observation, v *view) (names []workloadName, missing string, err error) {
	seen := map[workloadName]bool{}
	add := func(name workloadName) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	switch t := &o.spec.Spec.Target; {
	case t.Workload != nil:
		name := workloadName{string(t.Workload.Kind), t.Workload.Name}
		var there bool
		if there, err = v.exists(ctx, name); err == nil && there && name.kind == "ReplicaSet" {
			name, err = v.topOwner(ctx, name) // whose pods they are
		}
		if err == nil && !there {
			missing = fmt.Sprintf("%s %s does not exist", name.kind, name.name)
		}
		add(name)
	case t.Selector != nil:
		if v.selector, err = t.Selector.Selector(); err == nil {
			err = v.selectedOwners(ctx, add)
		}
		if err == nil && len(names) == 0 {
			missing = "no pod of a workload matches spec.target.selector"
		}
	}
	for _, name := range names {
		v.targets[name] = true
	}
	if run := o.stored.Status.CurrentRun; run != nil {
		for i := range run.Victims {
			if owner := run.Victims[i].Owner; owner != nil {
				add(workloadName{owner.Kind, owner.Name})
			}
		}
	}
	return names, missing, err
}
