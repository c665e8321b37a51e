// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

const (
	// actRetry is the wait after an action that failed for now.
	actRetry = time.Second
	// refusedRetry is the wait after a restart that was forbidden. It doubles up to refusedLongest.
	refusedRetry   = 10 * time.Second
	refusedLongest = 30 * time.Minute
)

// decide says what to do, and stores that: nothing is done that is not in the status.
func (r *Reconciler) decide(ctx context.Context, s *survey) (restart.Decision, error) {
	notices := s.recall()
	d := r.claim(s)
	if more, err := r.require(ctx, s, &d); err != nil {
		return d, err
	} else if more {
		d = r.claim(s)
	}
	s.look(d.Again)
	notices = append(notices, d.Notices...)
	if err := r.store(ctx, s, s.reported(&d.Status, d.Message, notices), notices); err != nil {
		return d, err
	}
	s.memory.results = nil
	r.settle(s, d.Waits)
	return d, nil
}

// decided is the policy that is decided about. One that is barred starts nothing, and its triggers are
// those that it had: what they have seen is not forgotten over a mistake.
func (s *survey) decided() *autorebootv1.RebootPolicy {
	if s.barred == "" {
		return s.policy
	}
	policy := s.policy.DeepCopy()
	policy.Spec.Suspend = ptr.To(true)
	policy.Spec.Triggers = nil
	for i := range s.policy.Status.Triggers {
		trigger := autorebootv1.Trigger{Name: s.policy.Status.Triggers[i].Name}
		for j := range s.policy.Spec.Triggers {
			if t := &s.policy.Spec.Triggers[j]; t.Name == trigger.Name {
				trigger.Type = t.Type
			}
		}
		policy.Spec.Triggers = append(policy.Spec.Triggers, trigger)
	}
	return policy
}

// store writes a status where it differs from the one that stands, and only upon that: another version
// of the policy is a conflict. What the notices say is told once it is written.
func (r *Reconciler) store(ctx context.Context, s *survey, status *autorebootv1.RebootPolicyStatus, notices []restart.Notice) error {
	if apiequality.Semantic.DeepEqual(&s.stored.Status, status) {
		return nil
	}
	before := s.stored.Status
	updated := s.stored.DeepCopy()
	updated.Status = *status
	if err := r.Client.Status().Update(ctx, updated); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	s.stored = updated
	s.policy = s.policy.DeepCopy()
	s.policy.Status, s.policy.ResourceVersion = updated.Status, updated.ResourceVersion
	s.memory.mark.Record(updated, r.Now())
	s.confirmed = true
	if len(updated.Status.InFlight) < len(before.InFlight) {
		s.look(s.now) // the pods of what has ended are checked from now on
	}
	r.tell(s, &before, notices)
	return nil
}

// confirm makes sure that a status which was not just written is the one that is stored.
func (r *Reconciler) confirm(ctx context.Context, s *survey) error {
	if s.confirmed {
		return nil
	}
	if err := controller.ConfirmStored(ctx, r.Live, s.stored, &autorebootv1.RebootPolicy{}); err != nil {
		return err
	}
	s.confirmed = true
	return nil
}

// act does what was decided, one after the other.
func (r *Reconciler) act(ctx context.Context, s *survey, d restart.Decision) ([]restart.Result, error) {
	if len(d.Actions) == 0 || s.barred != "" {
		return nil, nil // what is barred is known by its status alone, which is no right to act
	}
	if err := r.confirm(ctx, s); err != nil {
		return nil, err
	}
	var results []restart.Result
	for _, action := range d.Actions {
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		uid := action.Workload.UID
		if refused, ok := s.memory.refused[uid]; ok && s.now.Before(refused.until) {
			s.forbid(refused)
			continue
		}
		deed := r.Actor.Do(ctx, s.stored, action, s.version(uid))
		if deed.Err != nil {
			ctrllog.FromContext(ctx).Info("A restart did not go on", "restart", action.ID, "kind", action.Workload.Kind,
				"workload", action.Workload.Name, "verb", action.Verb, "outcome", deed.Outcome, "cause", deed.Err.Error())
		}
		switch deed.Outcome {
		case restart.Forbidden:
			s.refuse(action, deed)
		case restart.Again:
			s.look(s.now.Add(actRetry))
		case restart.Done, restart.Gone:
			delete(s.memory.refused, uid)
		}
		results = append(results, restart.Result{Action: action, Outcome: deed.Outcome, Generation: deed.Generation, Budget: deed.Budget})
	}
	return results, nil
}

// version is that of a workload as it was looked at.
func (s *survey) version(uid types.UID) string {
	if w := s.workload(uid); w != nil {
		return w.Version
	}
	return ""
}

// refuse remembers that a restart is forbidden, and puts the next try off.
func (s *survey) refuse(action restart.Action, deed Deed) {
	refused := s.memory.refused[action.Workload.UID]
	refused.until = s.now.Add(min(refusedRetry<<refused.tries, refusedLongest))
	refused.tries = min(refused.tries+1, 10)
	who := "the operator"
	if name := s.policy.Spec.ServiceAccountName; name != "" {
		who = "ServiceAccount " + name
	}
	what := fmt.Sprintf("patch %s %s", action.Workload.Kind, action.Workload.Name)
	if action.Verb == restart.Evict {
		what = fmt.Sprintf("evict the pods of %s %s", action.Workload.Kind, action.Workload.Name)
	}
	refused.message = fmt.Sprintf("%s may not %s, or an admission webhook forbids it", who, what)
	switch {
	case deed.Err != nil && strings.Contains(deed.Err.Error(), "impersonate"):
		refused.message = fmt.Sprintf("the operator may not impersonate %s: grant it that verb on the resource serviceaccounts of namespace %s", who, s.key.Namespace)
	case deed.Err == nil:
		refused.message = fmt.Sprintf("%s may not %s", who, what)
	}
	s.memory.refused[action.Workload.UID] = refused
	s.forbid(refused)
}

func (s *survey) forbid(refused refusal) {
	s.note(autorebootv1.ReasonForbidden, refused.message)
	s.look(refused.until)
}

// record stores what came of the actions, and returns when to look again.
func (r *Reconciler) record(ctx context.Context, s *survey, d restart.Decision, results []restart.Result) (time.Time, error) {
	if s.postpone(d, results) {
		return d.Again, nil
	}
	status, message, notices, again := &s.stored.Status, d.Message, []restart.Notice(nil), d.Again
	if len(results) > 0 {
		next := restart.Record(s.decided(), results, r.Now())
		status, notices, again = &next.Status, next.Notices, controller.Earliest(again, next.Again)
		if next.Message != "" {
			message = next.Message
		}
	}
	if err := r.store(ctx, s, s.reported(status, message, notices), notices); err != nil {
		return again, err
	}
	r.settle(s, d.Waits)
	return again, nil
}
