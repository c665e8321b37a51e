// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// findTargets finds the workloads of a policy, each once, ordered by wave, kind and name. A workload has the wave of the
// target that names it, whatever selectors match it, and otherwise the lowest of their waves. What is missing, or too much,
// becomes a problem.
func (r *Reconciler) findTargets(ctx context.Context, o *observation) {
	if o.blockedBy != "" {
		o.workloads = r.statusTargets(ctx, o)
		return
	}
	yields, err := r.yields(ctx, o)
	found := foundTargets{map[types.UID]*workload{}, map[types.UID]bool{}}
	for i := range o.policy.Spec.Targets {
		t := &o.policy.Spec.Targets[i]
		matched, all := r.match(ctx, o, t)
		// A template has selectors of kinds that not every namespace has. Of one that is not served a problem says so.
		mayBeNone := t.Selector != nil && rules.ClusterPolicyOf(o.policy) != ""
		if kind := rules.KindsOf(t)[0]; len(matched) == 0 && all && o.isServed(kind) && !mayBeNone {
			o.addProblem(autorebootv1.ReasonTargetNotFound, missingText(i, t))
			r.Kinds.LookAgain(kind)
		}
		for _, w := range matched {
			if !yields(w) {
				w.Wave = *t.Wave
				found.add(w, t.Selector == nil)
			}
		}
	}
	o.unread = slices.DeleteFunc(o.unread, func(w *workload) bool { return found.byUID[w.UID] != nil }) // by another target
	unselected := r.unselectedInFlight(ctx, o, found.byUID)
	o.limitTargets(append(slices.Collect(maps.Values(found.byUID)), unselected...), err == nil)
	if err != nil {
		o.couldNotRead(err)
		o.setAllUnread("the other RebootPolicies cannot be read, and one of them may restart it")
	}
	for _, w := range slices.Clone(o.workloads) {
		if w.RefersTo != nil {
			o.couldNotRead(w.RefersTo)
			o.setUnread(w, cannotBeRead)
		}
	}
}

// foundTargets are the workloads that targets take, and which of them a target names.
type foundTargets struct {
	byUID map[types.UID]*workload
	named map[types.UID]bool
}

// add adds a workload that a target takes, with its wave.
func (f *foundTargets) add(w *workload, byName bool) {
	known := f.byUID[w.UID]
	if known != nil {
		w.takesAll = w.takesAll || known.takesAll
		known.takesAll = w.takesAll
	}
	if known == nil || byName || !f.named[w.UID] && w.Wave < known.Wave {
		f.byUID[w.UID], f.named[w.UID] = w, byName
	}
}

// cannotBeRead is why the state of a workload stays as it is that could not be read.
const cannotBeRead = "the workload cannot be read"

// isUnread reports whether the workloads of an optional kind cannot be listed at the moment.
func (o *observation) isUnread(kind common.WorkloadKind) bool {
	state := o.kinds[kind]
	return workloadkinds.IsOptional(kind) && (!state.Known || state.Unreadable && !state.Forbidden)
}

// waveOf returns the wave of a workload that could not be read: that of the target which names it, or the highest of those that may
// select it, so that none of a lower wave waits for it without reason.
func (o *observation) waveOf(kind common.WorkloadKind, name string) int32 {
	var waves []int32
	for i := range o.policy.Spec.Targets {
		switch t := &o.policy.Spec.Targets[i]; {
		case !slices.Contains(rules.KindsOf(t), kind):
		case t.Selector != nil:
			waves = append(waves, ptr.Deref(t.Wave, 0))
		case t.Name == name:
			return ptr.Deref(t.Wave, 0)
		}
	}
	if len(waves) == 0 {
		return 0
	}
	return slices.Max(waves)
}

// keepUnread has the workloads of the status stay as they are that could not be read: all of a kind, or one of a name.
func (o *observation) keepUnread(kind common.WorkloadKind, name, why string) {
	keep := func(of common.WorkloadKind, called string, uid types.UID) {
		if of != kind || name != "" && called != name || slices.ContainsFunc(o.unread, func(w *workload) bool { return w.UID == uid }) {
			return
		}
		w := &workload{}
		w.Kind, w.Name, w.UID, w.Wave = kind, called, uid, o.waveOf(kind, called)
		o.setUnread(w, why)
	}
	for i := range o.policy.Status.Targets {
		t := &o.policy.Status.Targets[i]
		keep(t.Kind, t.Name, t.UID)
	}
	for i := range o.policy.Status.InFlight {
		f := &o.policy.Status.InFlight[i]
		keep(f.Kind, f.Name, f.UID)
	}
}

// isServed reports whether workloads of a kind can be read.
func (o *observation) isServed(kind common.WorkloadKind) bool {
	return !workloadkinds.IsOptional(kind) || o.kinds[kind].Served
}

// kindsPatience is how long a new process learns which kinds the API server serves before it goes on without.
const kindsPatience = 30 * time.Second

// findKinds finds out whether workloads can be read of the kinds that a cluster need not have, where the policy has to do with any.
// Nothing is decided for kindsPatience until that is known, and afterwards those of the status stay as they are: a workload that
// the cache does not have yet must not look deleted.
func (r *Reconciler) findKinds(o *observation) error {
	o.kinds = map[common.WorkloadKind]workloadkinds.State{}
	targeted, status := rules.OptionalKinds(&o.policy.Spec), &o.policy.Status
	all := slices.Clone(targeted)
	for _, t := range slices.Concat(status.Targets, status.UnselectedTargets) { // among which those in flight are
		if workloadkinds.IsOptional(t.Kind) {
			all = append(all, t.Kind)
		}
	}
	isUnknown := false
	for _, kind := range all {
		if _, known := o.kinds[kind]; known {
			continue
		}
		state := r.Kinds.Want(kind, o.key.Namespace)
		o.kinds[kind] = state
		switch {
		case o.isUnread(kind):
			why := cmp.Or(state.Why, fmt.Sprintf("the API server has not reported yet whether it serves %ss", kind.Name()))
			o.keepUnread(kind, "", why)
			if slices.Contains(targeted, kind) {
				o.unknown = append(o.unknown, why)
			}
			if !state.Known {
				isUnknown = true
				o.requeueAt(o.now.Add(readRetry)) // it is enqueued as soon as it is known
			}
		case state.Served || !slices.Contains(targeted, kind) || o.blockedBy != "":
		case state.Forbidden:
			o.addProblem(autorebootv1.ReasonForbidden, state.Why)
		default:
			o.addProblem(autorebootv1.ReasonTargetNotFound, state.Why)
		}
	}
	since := o.state.kindsUnknownSince
	if since.IsZero() {
		since = o.now
	}
	if o.state.kindsUnknownSince = since; !isUnknown {
		o.state.kindsUnknownSince = time.Time{}
	} else if o.now.Before(since.Add(kindsPatience)) {
		return workloadkinds.ErrUnknown
	}
	return nil
}

// yields returns a function that reports whether another policy takes a workload first. Only a policy that a
// ClusterRebootPolicy created yields.
func (r *Reconciler) yields(ctx context.Context, o *observation) (yields func(*workload) bool, err error) {
	var before []*autorebootv1.RebootPolicySpec
	if rules.ClusterPolicyOf(o.policy) != "" {
		var list autorebootv1.RebootPolicyList
		if err = r.Client.List(ctx, &list, client.InNamespace(o.key.Namespace), shared); err != nil {
			err = fmt.Errorf("list RebootPolicies: %w", err)
		}
		for i := range list.Items {
			if other := &list.Items[i]; rules.YieldsTo(o.policy, other) {
				before = append(before, &other.Spec)
			}
		}
	}
	return func(w *workload) bool {
		return slices.ContainsFunc(before, func(spec *autorebootv1.RebootPolicySpec) bool {
			return rules.Takes(spec, o.annotated(&w.Workload.Workload))
		})
	}, err
}

// statusTargets returns the workloads that the status names: a spec that is blocked selects none.
func (r *Reconciler) statusTargets(ctx context.Context, o *observation) (all []*workload) {
	for i := range o.policy.Status.Targets {
		t := &o.policy.Status.Targets[i]
		if w, _ := r.getTarget(ctx, o, t.Kind, t.Name, o.evicts()); w != nil {
			all = append(all, w)
		}
	}
	return all
}

// unselectedInFlight returns workloads that the spec does not select any more, and whose restart is in flight:
// it goes on until its end.
func (r *Reconciler) unselectedInFlight(ctx context.Context, o *observation, selected map[types.UID]*workload) (out []*workload) {
	for i := range o.policy.Status.InFlight {
		f := &o.policy.Status.InFlight[i]
		if selected[f.UID] != nil || o.workload(f.UID) != nil {
			continue
		}
		w, _ := r.getTarget(ctx, o, f.Kind, f.Name, f.Phase == autorebootv1.PhaseEvicting)
		if w == nil || selected[w.UID] != nil {
			continue // gone, or another of its name
		}
		w.Unselected = !w.between
		out = append(out, w)
	}
	return out
}

// findUnselected sets which workloads of the status exist, and are selected no more: what they are owed is kept.
func (r *Reconciler) findUnselected(ctx context.Context, o *observation) {
	o.unselected = map[types.UID]bool{}
	for _, t := range slices.Concat(o.policy.Status.Targets, o.policy.Status.UnselectedTargets) {
		if o.workload(t.UID) != nil {
			continue
		}
		if o.isUnread(t.Kind) || o.kinds[t.Kind].Forbidden {
			o.unselected[t.UID] = true // as far as is known
			continue
		}
		w, err := r.getWorkload(ctx, o, t.Kind, t.Name, false)
		if err != nil {
			o.couldNotRead(err)
		}
		o.unselected[t.UID] = err != nil || w != nil && w.UID == t.UID
	}
}

// limitTargets keeps as many workloads as a policy may watch, first those that it watches already: a new
// workload must not end a restart in flight. That there are more is a problem where it is known which the policy takes.
func (o *observation) limitTargets(all []*workload, known bool) {
	watched := map[types.UID]bool{}
	for i := range o.policy.Status.Targets {
		watched[o.policy.Status.Targets[i].UID] = true
	}
	slices.SortFunc(all, compareTargets)
	room := maxTargets - min(len(o.unread), maxTargets)
	if excess := len(all) - room; excess > 0 {
		slices.SortStableFunc(all, func(a, b *workload) int { return cmp.Compare(orderFirst(watched[a.UID]), orderFirst(watched[b.UID])) })
		var left []string
		for _, w := range all[room:] {
			left = append(left, string(w.Kind)+" "+w.Name)
		}
		all = all[:room]
		slices.SortFunc(all, compareTargets)
		if o.workloads = all; !known {
			return
		}
		o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf(
			"%d workloads match, and a policy watches at most %d: %s left alone (%s); make the selectors narrower, or spread them over several policies",
			len(o.unread)+room+excess, maxTargets, events.Plural(excess, "is", "are"), events.Summarize(left)))
	}
	o.workloads = all
}

func orderFirst(first bool) int {
	if first {
		return 0
	}
	return 1
}

func compareTargets(a, b *workload) int {
	return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

func missingText(i int, t *autorebootv1.Target) string {
	if t.Selector == nil {
		return fmt.Sprintf("%s %s does not exist", rules.KindsOf(t)[0], t.Name)
	}
	what := "workload"
	if kinds := rules.KindsOf(t); len(kinds) == 1 {
		what = string(kinds[0])
	}
	text := fmt.Sprintf("no %s matches the selector of spec.targets[%d]", what, i)
	if ptr.Deref(t.OptIn, autorebootv1.OptInAll) == autorebootv1.OptInAnnotation {
		text += " and has annotation " + common.RestartOnChangeAnnotation
	}
	return text
}

// match returns the workloads of one target, and whether these are all: those that could not be read stay as they are.
func (r *Reconciler) match(ctx context.Context, o *observation, t *autorebootv1.Target) (out []*workload, all bool) {
	if t.Selector == nil {
		w, read := r.getTarget(ctx, o, rules.KindsOf(t)[0], t.Name, o.evicts())
		if w != nil {
			out = append(out, w)
		}
		return out, read
	}
	selector, err := t.Selector.Selector()
	if err != nil {
		o.couldNotRead(err) // a spec that is valid has none such
		return nil, false
	}
	all = true
	for _, kind := range rules.KindsOf(t) {
		if !o.isServed(kind) {
			all = all && !o.isUnread(kind)
			continue
		}
		found, err := workloads.List(ctx, r.Client, o.policy.Namespace, kind, selector, o.evicts(), r.Kinds.Kinds()...)
		if err != nil {
			o.couldNotRead(err)
			o.keepUnread(kind, "", cannotBeRead)
			o.unknown = append(o.unknown, fmt.Sprintf("%ss cannot be listed", kind.Name()))
			all = false
			continue
		}
		for _, w := range found {
			if target := o.newWorkload(w); target.onChange.Selects(t) {
				target.takesAll = rules.TakesAll(t)
				out = append(out, target)
			}
		}
	}
	return out, all
}

// getTarget returns one workload, or nil where there is none. One that could not be read stays as it is.
func (r *Reconciler) getTarget(
	ctx context.Context, o *observation, kind common.WorkloadKind, name string, evicts bool,
) (w *workload, read bool) {
	w, err := r.getWorkload(ctx, o, kind, name, evicts)
	if err != nil {
		o.couldNotRead(err)
		o.keepUnread(kind, name, cannotBeRead)
		o.unknown = append(o.unknown, fmt.Sprintf("%s %s: %s", kind, name, cannotBeRead))
		return nil, false
	}
	return w, true
}

// getWorkload returns one workload; nil where there is none.
func (r *Reconciler) getWorkload(
	ctx context.Context, o *observation, kind common.WorkloadKind, name string, evicts bool,
) (*workload, error) {
	if !o.isServed(kind) {
		return nil, nil
	}
	found, err := workloads.Get(ctx, r.Client, types.NamespacedName{Namespace: o.key.Namespace, Name: name}, kind, evicts, r.Kinds.Kinds()...)
	if found == nil && err == nil && kind == common.WorkloadJob {
		return r.betweenJobs(ctx, o, name)
	}
	if found == nil || err != nil {
		return nil, err
	}
	return o.newWorkload(found), nil
}

func (o *observation) newWorkload(w *workloads.Workload) *workload {
	onChange := rules.OnChangeOf(o.policy.Spec.Compatibility, o.annotated(w))
	target := &workload{Workload: restart.Workload{Workload: *w, Pause: onChange.Pause}, onChange: onChange, takesAll: true}
	target.Paused = w.Kind == common.WorkloadDeployment && w.Annotations[autorebootv1.PausedByAnnotation] == o.policy.Name
	return target
}

// annotated returns what decides whether a policy takes a workload.
func (o *observation) annotated(w *workloads.Workload) *rules.Workload {
	return &rules.Workload{Kind: w.Kind, Namespace: o.key.Namespace, Name: w.Name, Labels: w.Labels, Annotations: w.Annotations,
		TemplateAnnotations: w.Template.Annotations}
}
