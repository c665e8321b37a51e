// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// observation holds the state that one reconcile reads and derives for a policy.
type observation struct {
	key types.NamespacedName
	now time.Time
	// stored is the policy as last read or written, and policy the same with defaults. Neither is modified in place.
	stored, policy *autorebootv1.RebootPolicy
	state          *objectState
	// statusLost means that another writer removed the status, and succeeds that the policy was created again and goes on
	// where the deleted one of its name ended.
	statusLost, succeeds bool
	// blockedBy is the reason why no trigger is read and nothing starts: InvalidSpec or Forbidden. It is empty for a valid and
	// approved policy. invalid lists the rules that the spec breaks.
	blockedBy, invalid string

	// kinds has the state of the optional workload kinds that the policy concerns: whether they can be read.
	kinds map[common.WorkloadKind]workloadkinds.State
	// workloads are those that were read with their pods. unread are others of the status: what it has of them stays.
	workloads, unread []*workload
	// unselected are the workloads of the status that exist, and that the spec does not select.
	unselected map[types.UID]bool
	gates      []string
	calendar   restart.Calendar
	suspect    bool
	// requests are those of verification.probes for each restart in flight, by its id.
	requests map[string][]requestcount.Requests
	// begun are the ids of the restarts that were in flight when the policy was read.
	begun map[string]bool
	// sourceCount is how many ConfigMaps and Secrets are observed, and required what is missing of those that pods need, by
	// idOf, as far as that is known.
	sourceCount int
	required    map[string][]string
	// wants has, for each signal, the keys of its source that count.
	wants map[signalID]sources.Want
	// problems are reasons of Ready=False.
	problems []problem
	// sourceless are messages about triggers that watch no source.
	sourceless []string
	// clamped are messages about durations of the spec that are above their upper bounds.
	clamped []string
	// mistakes are messages about invalid dependency annotations of workloads, and about the parts of their pod templates that
	// are not read.
	mistakes []string
	// clockSkew is added to messages about what waits.
	clockSkew string
	// budgetBlocks describe the targets whose disruption budgets allow no eviction, where that is known.
	budgetBlocks   []string
	budgetsUnknown bool
	// unknown are messages about targets that could not be read, besides those that unread has, and failures the errors.
	unknown  []string
	failures []error

	// confirmed means that stored is what the API server has: it was just written, or read from there.
	confirmed bool
	// claimed are the policy's claims in the ledger.
	claimed []disruption.Claim
	// requeue is when to reconcile again, besides that of the decision.
	requeue time.Time
}

// signalID identifies a signal of a source.
type signalID struct {
	workload        types.UID
	trigger, source string
}

type problem struct{ reason, message string }

func (o *observation) addProblem(reason, message string) {
	p := problem{reason, message}
	if !slices.Contains(o.problems, p) {
		o.problems = append(o.problems, p)
	}
}

const (
	// readRetry is the wait after something could not be read, which doubles up to maxReadRetry.
	readRetry    = 5 * time.Second
	maxReadRetry = time.Minute
)

// couldNotRead has what could not be read be read again. The error is for the log.
func (o *observation) couldNotRead(err error) {
	if len(o.failures) == 0 {
		o.state.readFailures++
	}
	o.failures = append(o.failures, err)
	o.requeueAt(o.now.Add(o.state.readRetry()))
}

// setUnread has the state of a workload stay as it is, since it, its pods or what its restart depends on could not be read.
func (o *observation) setUnread(w *workload, why string) {
	w.Unread = why
	o.workloads = slices.DeleteFunc(o.workloads, func(read *workload) bool { return read == w })
	o.unread = append(o.unread, w)
}

// setAllUnread has the state of all workloads stay as it is.
func (o *observation) setAllUnread(why string) {
	for _, w := range slices.Clone(o.workloads) {
		o.setUnread(w, why)
	}
}

// unreadText returns which targets could not be read, and why; empty for none.
func (o *observation) unreadText() string {
	all := slices.Clone(o.unknown)
	for _, w := range o.unread {
		all = append(all, fmt.Sprintf("%s %s: %s", w.Kind, w.Name, w.Unread))
	}
	slices.Sort(all)
	return events.Summarize(slices.Compact(all))
}

// worstProblem returns the most severe reason with all its messages: a condition has one reason.
func worstProblem(problems []problem) (reason string, messages []string) {
	for _, reason := range []string{
		autorebootv1.ReasonInvalidSpec, autorebootv1.ReasonForbidden, autorebootv1.ReasonWriteRefused, autorebootv1.ReasonTooManyTargets,
		autorebootv1.ReasonTargetNotFound, autorebootv1.ReasonSourceNotFound, autorebootv1.ReasonProbeUnavailable,
	} {
		for _, p := range problems {
			if p.reason == reason && !slices.Contains(messages, p.message) {
				messages = append(messages, p.message)
			}
		}
		if len(messages) > 0 {
			return reason, messages
		}
	}
	return "", nil
}

func (o *observation) evicts() bool { return rules.Evicts(&o.policy.Spec) }

func (o *observation) requeueAt(at time.Time) { o.requeue = controller.Earliest(o.requeue, at) }

// inFlight reports whether the policy has a restart of a workload in flight.
func (o *observation) inFlight(uid types.UID) bool {
	return slices.ContainsFunc(o.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == uid })
}

// targetStatus returns what the status has of a workload; the zero value where it has nothing.
func (o *observation) targetStatus(w *workload) autorebootv1.TargetStatus {
	for _, all := range [][]autorebootv1.TargetStatus{o.policy.Status.Targets, o.policy.Status.UnselectedTargets} {
		for i := range all {
			if t := &all[i]; t.UID == w.UID && t.Kind == w.Kind {
				return *t
			}
		}
	}
	return autorebootv1.TargetStatus{}
}

// baseline returns the stored fingerprint of a source for a trigger. After a trigger was renamed, the fingerprint is under the
// previous name until the next decision.
func (o *observation) baseline(w *workload, trigger, source string) (fingerprint string, found bool) {
	for _, b := range o.targetStatus(w).Baselines {
		switch {
		case b.Source != source:
		case b.Trigger == trigger:
			return b.Fingerprint, true
		case !o.hasTrigger(b.Trigger):
			fingerprint, found = b.Fingerprint, true
		}
	}
	return fingerprint, found
}

// hasTrigger reports whether the spec has a trigger of a name, or it is that of the annotation.
func (o *observation) hasTrigger(name string) bool {
	return name == autorebootv1.RestartNowTrigger ||
		slices.ContainsFunc(o.policy.Spec.Triggers, func(t autorebootv1.Trigger) bool { return t.Name == name })
}

// selectedCount returns how many workloads the spec selects.
func (o *observation) selectedCount() int {
	n := 0
	for _, w := range slices.Concat(o.workloads, o.unread) {
		if !w.Unselected {
			n++
		}
	}
	return n
}

// workload returns the workload of a UID; nil if it is not a target.
func (o *observation) workload(uid types.UID) *workload {
	for _, all := range [][]*workload{o.workloads, o.unread} {
		if at := slices.IndexFunc(all, func(w *workload) bool { return w.UID == uid }); at >= 0 {
			return all[at]
		}
	}
	return nil
}

// starting returns the workloads whose restarts a decision starts.
func (o *observation) starting(d *restart.Decision) (workloads []*workload) {
	started := map[string]bool{}
	for i := range o.policy.Status.InFlight {
		started[o.policy.Status.InFlight[i].ID] = true
	}
	for i := range d.Status.InFlight {
		f := &d.Status.InFlight[i]
		if w := o.workload(f.UID); w != nil && !started[f.ID] {
			workloads = append(workloads, w)
		}
	}
	return workloads
}

// decisionInput returns what package restart decides from.
func (o *observation) decisionInput() restart.Observation {
	in := restart.Observation{Now: o.now, Gates: o.gates, Calendar: o.calendar, Suspect: o.suspect, Unselected: o.unselected,
		Requests: o.requests}
	all := slices.Concat(o.workloads, o.unread)
	slices.SortFunc(all, compareTargets)
	for _, w := range all {
		in.Workloads = append(in.Workloads, w.Workload)
	}
	return in
}

const (
	// intervalPerWrite is how many times as long as the last write of the status took a policy is left alone because
	// of events of workloads: the status of 100 targets with four sources each is 90 KB, and an API server that is
	// busy takes the longer for it.
	intervalPerWrite = 20
	// maxInterval limits that.
	maxInterval = 5 * time.Second
)

// interval returns the least time between two reconciles because of events of workloads.
func (o *observation) interval() time.Duration {
	return min(controller.CoalescingInterval+intervalPerWrite*o.state.writeTook, maxInterval)
}

// effectivePolicy returns the policy to decide about. One that is blocked starts nothing, sends no requests, and keeps the
// triggers that its status has: their baselines must not be lost over a mistake in the spec.
func (o *observation) effectivePolicy() *autorebootv1.RebootPolicy {
	if o.blockedBy == "" {
		return o.policy
	}
	policy := o.policy.DeepCopy()
	policy.Spec.Suspend = ptr.To(true)
	policy.Spec.Triggers, policy.Spec.Verification.Probes = nil, nil
	for i := range o.policy.Status.Triggers {
		trigger := autorebootv1.Trigger{Name: o.policy.Status.Triggers[i].Name}
		for j := range o.policy.Spec.Triggers {
			if t := &o.policy.Spec.Triggers[j]; t.Name == trigger.Name {
				trigger.Type = t.Type
			}
		}
		policy.Spec.Triggers = append(policy.Spec.Triggers, trigger)
	}
	return policy
}

// workload is a target as the cache has it.
type workload struct {
	restart.Workload
	// requiredChecked means that Missing is complete.
	requiredChecked bool
	// between means that it is a Job that is being created again, which the cache does not have.
	between bool
	// podsChecked means that the API server was asked which of Pods exist.
	podsChecked bool
	// onChange holds the annotations that choose the changes for which the workload restarts.
	onChange rules.OnChange
	// takesAll means that a target takes it which takes all.
	takesAll bool
	// cached are Pods as the cache has them, in the same order.
	cached []*corev1.Pod
}

// maxTargets is how many workloads a policy watches: each has its part of the status, whose size is bounded.
const maxTargets = 100

// shared reads objects as the cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// updateWatchSet sets what a policy watches, except the owners of its pods and what its workloads need.
func (r *Reconciler) updateWatchSet(policy types.NamespacedName, wanted *watchSet) {
	if known := r.watchIndex.Get(policy); known != nil {
		wanted.owners, wanted.dependencies = known.owners, known.dependencies
	}
	r.watchIndex.Set(policy, wanted)
}

// updateDependencies sets which ExternalServices the workloads of a policy declare that they need, so that a fault of one
// enqueues the policy.
func (r *Reconciler) updateDependencies(o *observation) {
	var all map[string]bool
	for _, w := range o.workloads {
		for _, name := range w.DependsOn {
			if all == nil {
				all = map[string]bool{}
			}
			all[name] = true
		}
		mistakes := slices.Clone(w.onChange.Mistakes[:min(1, len(w.onChange.Mistakes))]) // the others follow once it is corrected
		for _, mistake := range []string{w.DependsOnMistake, w.TemplateMistake} {
			if mistake != "" {
				mistakes = append(mistakes, mistake)
			}
		}
		for _, mistake := range mistakes {
			o.mistakes = append(o.mistakes, fmt.Sprintf("%s %s: %s", w.Kind, w.Name, mistake))
		}
	}
	if known := r.watchIndex.Get(o.key); known != nil && !maps.Equal(known.dependencies, all) {
		wanted := *known
		wanted.dependencies = all
		r.watchIndex.Set(o.key, &wanted)
	}
}

// updateOwners sets whose pods a policy watches.
func (r *Reconciler) updateOwners(policy types.NamespacedName, owners map[types.UID]bool) {
	if known := r.watchIndex.Get(policy); known != nil {
		wanted := *known
		wanted.owners = owners
		r.watchIndex.Set(policy, &wanted)
	}
}
