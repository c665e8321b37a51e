// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Side is one side of the comparison: what a policy observes before a change, or after it.
type Side struct {
	Policy *autorebootv1.RebootPolicy
	// Client reads what the controller reads from its cache.
	Client client.Reader
	// Sources are the ConfigMaps and Secrets that the change is about. It ignores all others.
	Sources *sources.Assumed
}

// ForecastOptions are the inputs of a Forecast besides the two Sides.
type ForecastOptions struct {
	Now time.Time
	// Key of fingerprints. It need not be that of the installation.
	Key *fingerprint.Key
	// Ledger has what is in flight.
	Ledger *disruption.Ledger
	// Freeze has the blackouts of the cluster.
	Freeze freeze.State
	// Rollouts is the state of Argo Rollouts: whether they can be read.
	Rollouts workloadkinds.State
}

// Forecast is the predicted effect of changed ConfigMaps and Secrets on the workloads of a policy.
type Forecast struct {
	// Blocked is why the policy restarts nothing, as a reason and a message; empty where it may.
	Blocked restart.Hold
	// Watched are the sources that it observes for a workload and that count, such as Secret/db-login.
	Watched []string
	// Restarts in the order in which they start.
	Restarts []ForeseenRestart
	// First are changed sources that only the policy as it would be observes for a workload: whether it restarts for them depends on
	// which is applied first.
	First []string
	// MaxTargets is how many of them may be in flight at once, as the spec has it.
	MaxTargets string
}

// ForeseenRestart is a restart that a change asks for.
type ForeseenRestart struct {
	Target common.WorkloadReference
	Wave   int32
	// Sources are those that changed, for each trigger that watches them.
	Sources []ForeseenSource
	// Holds are all reasons for which it does not start at once.
	Holds []restart.Hold
	// Starts is when nothing holds it any more that ends by time, and Window what is open then; empty without windows.
	Starts time.Time
	Window string
	// Waits means that holds are left then: only another event ends them.
	Waits bool
}

// ForeseenSource is a source that a trigger sees change.
type ForeseenSource struct {
	Trigger, Source string
	Keys            []string
}

// Foresee returns what the controller would do about a change, by the code that does it. Nothing is written, and pods are read
// only where the policy evicts them. What other triggers see does not count.
func Foresee(ctx context.Context, o ForecastOptions, before, after Side) (*Forecast, error) {
	was, err := o.observe(ctx, before)
	if err != nil {
		return nil, err
	}
	policy := after.Policy.DeepCopy()
	policy.Status = *before.Policy.Status.DeepCopy()
	if !equality.Semantic.DeepEqual(&after.Policy.Spec, &before.Policy.Spec) { // admission approves what its writer may do
		policy.Annotations = maps.Clone(policy.Annotations)
		if policy.Annotations == nil {
			policy.Annotations = map[string]string{}
		}
		policy.Annotations[common.ApprovedByAnnotation] = approval.Value("", approval.RebootPolicyDigest(&policy.Spec))
		policy.Generation = before.Policy.Generation + 1
	}
	was.setBaselines(&policy.Status)
	will, err := o.observe(ctx, Side{policy, after.Client, after.Sources})
	if err != nil {
		return nil, err
	}
	f := &Forecast{
		Blocked: will.blocked, Watched: slices.Concat(was.watched(), will.watched()),
		MaxTargets: will.policy.Spec.Concurrency.MaxTargets.String(),
	}
	if will.blocked.Reason != autorebootv1.ReasonInvalidSpec {
		f.Restarts, f.First = o.restarts(will, after.Sources), will.firstSeen(after.Sources)
	}
	return f, nil
}

// firstSeen are the changed sources without a baseline.
func (s *side) firstSeen(changed *sources.Assumed) (names []string) {
	for _, w := range s.workloads {
		for i := range w.Signals {
			signal := &w.Signals[i]
			want, has := s.wants[signalID{w.UID, signal.Trigger, signal.Source}]
			_, known := s.baseline(w, signal.Trigger, signal.Source)
			if has && !known && signal.Unknown == "" && len(changed.Changed(&want)) > 0 && !slices.Contains(names, signal.Source) {
				names = append(names, signal.Source)
			}
		}
	}
	return names
}

// side is an observation, with what blocks the policy: a forecast goes on without it.
type side struct {
	*observation
	blocked restart.Hold
}

// watched are the sources that count.
func (s *side) watched() (names []string) {
	for _, w := range s.workloads {
		for i := range w.Signals {
			if signal := &w.Signals[i]; signal.Unknown == "" && !signal.Ignored && signal.Source != "" && !slices.Contains(names, signal.Source) {
				names = append(names, signal.Source)
			}
		}
	}
	return names
}

// uidOf returns the UID of a target; empty where it was not read.
func (s *side) uidOf(target common.WorkloadReference) types.UID {
	at := slices.IndexFunc(s.workloads, func(w *workload) bool {
		return w.Kind == common.KindOfGroup(target.Group, target.Kind) && w.Name == target.Name
	})
	if at < 0 {
		return ""
	}
	return s.workloads[at].UID
}

// observe reads what the triggers of a policy that watch ConfigMaps and Secrets decide from.
func (o *ForecastOptions) observe(ctx context.Context, s Side) (*side, error) {
	now := func() time.Time { return o.Now }
	r := newReconciler(Reconciler{
		Client: controller.ReadOnly{Reader: s.Client}, Live: s.Client, Now: now, Sources: s.Sources, Ledger: o.Ledger, Key: o.Key,
	})
	seen := &side{observation: r.begin(s.Policy)}
	seen.kinds = map[common.WorkloadKind]workloadkinds.State{common.WorkloadRollout: o.Rollouts}
	if reason := seen.blockedBy; reason != "" {
		_, messages := worstProblem(seen.problems)
		seen.blocked = restart.Hold{Reason: reason, Message: strings.Join(messages, "; ")}
		if reason == autorebootv1.ReasonInvalidSpec {
			return seen, nil
		}
		seen.blockedBy = ""
	}
	for i := range seen.policy.Status.Targets { // what is not read of them stays as it is
		if kind := seen.policy.Status.Targets[i].Kind; !seen.isServed(kind) {
			seen.keepUnread(kind, "", cannotBeRead)
		}
	}
	r.findTargets(ctx, seen.observation)
	r.findUnselected(ctx, seen.observation)
	if seen.evicts() {
		r.readPods(ctx, seen.observation)
	}
	seen.calendar, _ = seen.state.calendar.at(o.Now, o.Freeze)
	seen.gates = r.closedGates(ctx, seen.observation)
	seen.restartNowSignals()
	seen.addUnobserved()
	r.sourceSignals(ctx, seen.observation)
	seen.limitSignals()
	return seen, errors.Join(seen.failures...)
}

// addUnobserved keeps what the triggers that are not observed here have asked for.
func (o *observation) addUnobserved() {
	for i := range o.policy.Spec.Triggers {
		t := &o.policy.Spec.Triggers[i]
		if t.ConfigChange != nil || t.CertificateRenewal != nil {
			continue
		}
		for _, w := range o.workloads {
			w.Signals = append(w.Signals, restart.Signal{Trigger: t.Name, Unknown: autorebootv1.ReasonUnreadable})
		}
	}
}

// setBaselines has the targets of a status know what is there now: fingerprints of the installation, whose key is a secret, cannot
// be compared. What a restart waits for already stays asked for.
func (s *side) setBaselines(status *autorebootv1.RebootPolicyStatus) {
	for _, w := range s.workloads {
		at := slices.IndexFunc(status.Targets, func(t autorebootv1.TargetStatus) bool { return t.UID == w.UID })
		if at < 0 {
			at = len(status.Targets)
			status.Targets = append(status.Targets, autorebootv1.TargetStatus{Kind: w.Kind, Name: w.Name, UID: w.UID})
		}
		t := &status.Targets[at]
		for i := range w.Signals {
			signal := &w.Signals[i]
			if signal.Unknown != "" || signal.Trigger == autorebootv1.RestartNowTrigger {
				continue
			}
			t.Baselines = slices.DeleteFunc(t.Baselines, func(b autorebootv1.Baseline) bool {
				return b.Trigger == signal.Trigger && b.Source == signal.Source
			})
			fingerprint := signal.Fingerprint
			if t.Pending != nil && slices.Contains(t.Pending.Triggers, signal.Trigger) && fingerprint != "" {
				fingerprint = restart.FormerFingerprint(fingerprint)
			}
			t.Baselines = append(t.Baselines, autorebootv1.Baseline{Trigger: signal.Trigger, Source: signal.Source, Fingerprint: fingerprint})
		}
	}
}

// maxSteps bounds how often a forecast looks again when something ends by time: each time a window may have closed meanwhile.
const maxSteps = 64

// restarts are those that changed sources ask for, and when each starts.
func (o *ForecastOptions) restarts(will *side, changed *sources.Assumed) (found []ForeseenRestart) {
	in := will.decisionInput()
	o.Ledger.Do(holderOf(will.key), groupOf(will.policy), func(view disruption.View) []disruption.Claim {
		stored := claimsOf(&will.stored.Status)
		in.Others = othersOf(view, stored)
		return stored
	})
	later := will.policy.DeepCopy()
	forecasts, status := restart.Foresee(will.policy, in)
	later.Status = status
	for i := range forecasts {
		f := ForeseenRestart{Target: forecasts[i].Target, Wave: forecasts[i].Wave, Holds: forecasts[i].Holds}
		if will.blocked.Reason != "" {
			f.Holds = append([]restart.Hold{will.blocked}, f.Holds...)
		}
		for _, s := range forecasts[i].Changed {
			uid := will.uidOf(forecasts[i].Target)
			want, has := will.wants[signalID{uid, s.Trigger, s.Source}]
			if keys := changed.Changed(&want); has && len(keys) > 0 {
				f.Sources = append(f.Sources, ForeseenSource{s.Trigger, s.Source, keys})
			}
		}
		if len(f.Sources) == 0 { // asked for before
			continue
		}
		found = append(found, f)
	}
	o.setStarts(will, found, forecasts, later, in)
	return found
}

// setStarts finds out when each restart starts. Each time that something ends, all is looked at again.
func (o *ForecastOptions) setStarts(
	will *side, found []ForeseenRestart, forecasts []restart.Forecast, later *autorebootv1.RebootPolicy, in restart.Observation,
) {
	calendar := will.state.calendar.calendar.And(o.Freeze.Blackouts)
	for at, steps := o.Now, 0; steps < maxSteps; steps++ {
		var next time.Time
		for i := range forecasts {
			n := slices.IndexFunc(found, func(f ForeseenRestart) bool { return f.Target == forecasts[i].Target })
			if n < 0 || !found[n].Starts.IsZero() {
				continue
			}
			until, all := forecasts[i].Latest()
			if until.After(at) {
				next = controller.Earliest(next, until)
				continue
			}
			found[n].Starts, found[n].Window, found[n].Waits = at, calendar.Window(at), !all || will.blocked.Reason != ""
		}
		if next.IsZero() {
			break
		}
		at, in.Now = next, next
		in.Calendar, _ = will.state.calendar.at(next, o.Freeze)
		forecasts, _ = restart.Foresee(later, in)
	}
}
