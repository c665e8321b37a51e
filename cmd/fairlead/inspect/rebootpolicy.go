// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// policy returns of each workload what it waits for and what asked for it, what is in flight, and how the last restart ended.
func (e *explainer) policy(o *Object, depth int) []Finding {
	policy, is := o.Source.(*v1.RebootPolicy)
	if !is {
		return nil
	}
	found := slices.Concat(e.pending(o, policy, policy.Status.Targets, depth), e.inFlight(o, policy.Status.InFlight), e.triggers(o, policy))
	if len(policy.Status.History) > 0 {
		r := &policy.Status.History[0]
		found = append(found, e.restarted(o, r))
	}
	if name := rebootpolicy.ClusterPolicyOf(policy); name != "" {
		found = append(found, Finding{
			About: "owner", Message: "ClusterRebootPolicy " + name + " has made it, and reverts changes of its spec",
			Remedy: "Change the template of the ClusterRebootPolicy, or create a RebootPolicy for the workload, which takes precedence.",
		})
	}
	return found
}

// restarted is the finding of a restart that has ended.
func (e *explainer) restarted(o *Object, r *v1.RestartRecord) Finding {
	f := e.last(o, "last restart of "+string(r.Target.Kind)+" "+r.Target.Name, &r.Record)
	f.Message = strings.TrimSuffix(strings.Join([]string{"for " + triggersText(r.Triggers), f.Message}, ": "), ": ")
	return f
}

// pending are the restarts that wait, those of one reason together.
func (e *explainer) pending(o *Object, policy *v1.RebootPolicy, targets []v1.TargetStatus, depth int) (found []Finding) {
	waiting := map[string][]*v1.TargetStatus{}
	var reasons []string
	for i := range targets {
		t := &targets[i]
		if t.Pending == nil {
			continue
		}
		if waiting[t.Pending.Reason] == nil {
			reasons = append(reasons, t.Pending.Reason)
		}
		waiting[t.Pending.Reason] = append(waiting[t.Pending.Reason], t)
	}
	for _, reason := range reasons {
		found = append(found, e.waiting(o, policy, reason, waiting[reason], depth))
	}
	return found
}

// waiting is the finding of the restarts that wait for one reason.
func (e *explainer) waiting(o *Object, policy *v1.RebootPolicy, reason string, targets []*v1.TargetStatus, depth int) Finding {
	f := e.finding(o, v1.ConditionWaiting, reason, true)
	var names, said []string
	for _, t := range targets {
		names = append(names, string(t.Kind)+" "+t.Name)
		if p := t.Pending; f.Since == nil || p.FirstRequestTime.Before(f.Since) {
			f.Since = &p.FirstRequestTime
		}
		if why := requested(policy, t.Pending); !slices.Contains(said, why) && len(said) < events.MaxNamed {
			said = append(said, why)
		}
	}
	f.About, f.Status, f.Message = "restart of "+events.Summarize(names), "Waiting", strings.Join(said, "; ")
	switch reason {
	case v1.ReasonOutsideWindow, v1.ReasonBlackout:
		f.Until = policy.Status.NextAllowedTime
	case v1.ReasonApprovalRequired:
		f.Message += "; approval " + string(policy.Status.PendingApproval) + " opens it"
	case v1.ReasonGateClosed:
		f.Because = e.because(gates(o), depth)
	case v1.ReasonForbidden, v1.ReasonWriteRefused:
		if r := targets[0].Pending.Refusal; r != nil {
			f.Message += "; the API server: " + r.Message
		}
	}
	return f
}

// gates are the relations of a policy that hold its restarts: a fault of an ExternalService does so as a gate does.
func gates(o *Object) (found []Relation) {
	for _, r := range o.Needs {
		if strings.HasPrefix(r.Role, "gate ") || r.Object.Kind == ExternalService {
			found = append(found, r)
		}
	}
	return found
}

// requested returns what asked for a restart.
func requested(policy *v1.RebootPolicy, p *v1.PendingRestart) string {
	var changed []string
	for _, name := range p.Triggers {
		text := "trigger " + name
		if name == v1.RestartNowTrigger {
			text = "the annotation " + v1.RestartNowAnnotation
		}
		for i := range policy.Spec.Triggers {
			if t := &policy.Spec.Triggers[i]; t.Name == name {
				text += " (" + string(t.Type) + ")"
			}
		}
		changed = append(changed, text)
	}
	return fmt.Sprintf("asked for by %s, first at %s and last at %s",
		strings.Join(changed, ", "), at(&p.FirstRequestTime), at(&p.LastRequestTime))
}

// inFlight are the restarts that have begun.
func (e *explainer) inFlight(o *Object, restarts []v1.InFlightRestart) (found []Finding) {
	for i := range restarts {
		r := &restarts[i]
		f := e.finding(o, ofTarget, string(r.Phase), false)
		f.About, f.Status, f.Since = "restart of "+string(r.Kind)+" "+r.Name, "Progressing", r.PhaseTime
		f.Message = fmt.Sprintf("restart %s began at %s, for %s", r.ID, at(r.StartTime), triggersText(r.Triggers))
		if r.BlockedBy != "" {
			f.Message += fmt.Sprintf("; PodDisruptionBudget %s refuses evictions since %s", r.BlockedBy, at(r.BlockedTime))
		}
		f.Message += requestsText(r.Probes)
		if r.Refusal != nil {
			f.Message += "; the API server: " + r.Refusal.Message
		}
		found = append(found, f)
	}
	return found
}

// triggers are those that cannot be observed, or whose addresses settle.
func (e *explainer) triggers(o *Object, policy *v1.RebootPolicy) (found []Finding) {
	for i := range policy.Status.Triggers {
		if t := &policy.Status.Triggers[i]; t.Reason != "" {
			f := e.finding(o, ofTrigger, t.Reason, false)
			f.About, f.Status, f.Since, f.Override = "trigger "+t.Name, string(t.State), t.LastObservedTime, ""
			found = append(found, f)
		}
	}
	return found
}

func triggersText(names []string) string {
	if len(names) == 0 {
		return "no trigger that is known"
	}
	return "trigger " + strings.Join(names, ", ")
}

// at writes a time; "an unknown time" for none.
func at(t *metav1.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// workload returns what restarts a workload, what that waits for, and how it last ended; how its last run of chaos did; and what
// is wrong with the dependencies that it declares.
func (e *explainer) workload(o *Object, depth int) (found []Finding) {
	if _, mistake := rules.Dependencies(o.Source.GetAnnotations()); mistake != "" {
		found = append(found, Finding{
			About: "annotation " + common.DependsOnAnnotation, Message: mistake,
			Remedy: "Write externalservice/NAME, several separated by commas.",
		})
	}
	if onChange := rebootpolicy.OnChangeOf("", &rebootpolicy.Workload{Annotations: o.Source.GetAnnotations()}); len(onChange.Mistakes) > 0 {
		found = append(found, Finding{
			About: "annotation " + common.RestartOnChangeAnnotation, Message: strings.Join(onChange.Mistakes, "; "),
			Remedy: "Write true, false, configmap/NAME or secret/NAME, several names separated by commas.",
		})
	}
	for _, r := range o.NeededBy {
		policy, is := r.Object.Source.(*v1.RebootPolicy)
		if !is || r.Role != roleRestarts {
			if is := r.Role == roleKills; is && r.Object.Source != nil {
				found = append(found, e.chaosPod(r.Object, depth+1)...)
			}
			continue
		}
		found = append(found, e.restarts(o, r.Object, policy, depth+1)...)
	}
	return found
}

// restarts are the findings of the restarts of one workload by a policy: what waits, what is in flight, and how the last one ended.
func (e *explainer) restarts(o, by *Object, policy *v1.RebootPolicy, depth int) []Finding {
	isOther := func(kind common.WorkloadKind, name string) bool { return string(kind) != o.Kind || name != o.Name }
	ended := slices.IndexFunc(policy.Status.History, func(h v1.RestartRecord) bool {
		return !isOther(common.KindOfGroup(h.Target.Group, h.Target.Kind), h.Target.Name)
	})
	targets := slices.DeleteFunc(slices.Clone(policy.Status.Targets), func(t v1.TargetStatus) bool { return isOther(t.Kind, t.Name) })
	inFlight := slices.DeleteFunc(slices.Clone(policy.Status.InFlight), func(f v1.InFlightRestart) bool { return isOther(f.Kind, f.Name) })
	found := slices.Concat(e.pending(by, policy, targets, depth), e.inFlight(by, inFlight))
	if ended >= 0 {
		found = append(found, e.restarted(by, &policy.Status.History[ended]))
	}
	for i := range found {
		found[i].About += " by RebootPolicy " + policy.Name
	}
	return found
}

// requestsText returns the counts of verification.probes as they are in a status, as the end of a sentence.
func requestsText(probes []common.ProbeRequests) (text string) {
	for _, p := range probes {
		text += fmt.Sprintf("; probe %s: %d of %d requests had failed when the status was written", p.Name, p.Failed, p.Sent)
	}
	return text
}
