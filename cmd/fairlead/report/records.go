// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// addRecords adds what the records of an object show.
func (b *builder) addRecords(o *inspect.Object) {
	switch source := o.Source.(type) {
	case *autorebootv1.RebootPolicy:
		for i := range source.Status.History {
			b.addRestart(o.Key, &source.Status.History[i])
		}
	case *chaosv1.ChaosPod:
		b.addChaosPod(o.Key, source)
	case *networkingv1.ExternalService:
		b.addDependency(o, source)
	}
}

// evidenceOf is the Evidence of an entry of a history.
func evidenceOf(of inspect.Key, r *common.Record) Evidence {
	ended := cmp.Or(r.CompletionTime, r.StartTime)
	return Evidence{Object: of, Record: r.ID, Time: ended, Result: r.Result, Reason: r.Reason, Message: r.Message}
}

// addRestart adds a restart. One that was not needed is none.
func (b *builder) addRestart(policy inspect.Key, r *autorebootv1.RestartRecord) {
	if r.Result == autorebootv1.ResultSuperseded {
		return
	}
	e, o := evidenceOf(policy, &r.Record), inconclusive
	e.Requests = r.Requests
	switch {
	case r.Result == autorebootv1.ResultSucceeded:
		o = survived
	case r.Reason == autorebootv1.ReasonTargetGone, r.Reason == autorebootv1.ReasonUnselected: // no matter of the workload's
	case r.Result == autorebootv1.ResultFailed:
		o = failed
	}
	kind := common.KindOfGroup(r.Target.Group, r.Target.Kind)
	b.add(claim{inspect.Key{Kind: string(kind), Namespace: policy.Namespace, Name: r.Target.Name}, Restart, ""}, o, e)
}

// addChaosPod adds the runs of a ChaosPod. The message of one names the workloads that it was about. Of those that were verified
// the latest is also about the target, unless that was changed since.
func (b *builder) addChaosPod(of inspect.Key, pod *chaosv1.ChaosPod) {
	lostPod := func(kind, name string) claim {
		return claim{inspect.Key{Kind: kind, Namespace: of.Namespace, Name: name}, LostPod, ""}
	}
	target := pod.Spec.Target.Workload
	isVerified := target != nil && isOfTarget(pod)
	for i := range pod.Status.History {
		run := &pod.Status.History[i]
		o := map[string]outcome{
			chaosv1.ResultSurvived: survived, chaosv1.ResultRecoveryFailed: failed, chaosv1.ResultProbesFailed: failed,
		}[run.Result]
		owners := chaos.OwnersIn(run)
		isNamed := func(w chaosv1.VictimOwner) bool {
			return target != nil && w.Kind == string(target.Kind) && w.Name == target.Name
		}
		switch {
		case target == nil || slices.ContainsFunc(owners, isNamed):
		case o == inconclusive, isVerified && len(owners) == 0:
			owners = append(owners, chaosv1.VictimOwner{Kind: string(target.Kind), Name: target.Name})
		}
		for _, w := range owners {
			b.add(lostPod(w.Kind, w.Name), o, evidenceOf(of, &run.Record))
		}
		isVerified = isVerified && o == inconclusive
	}
	last := pod.Status.LastSuccessfulRunTime
	hasIt := func(r chaosv1.Run) bool { return r.Result == chaosv1.ResultSurvived }
	if target != nil && last != nil && isVerified && !slices.ContainsFunc(pod.Status.History, hasIt) {
		if c := meta.FindStatusCondition(pod.Status.Conditions, chaosv1.ConditionSurvived); c != nil && c.Status == metav1.ConditionTrue {
			b.add(lostPod(string(target.Kind), target.Name), survived, Evidence{Object: of, Time: last, Result: chaosv1.ResultSurvived,
				Reason: c.Reason, Message: "the history has the record no longer"})
		}
	}
}

// isOfTarget reports whether the last run that was verified had the present target.
func isOfTarget(pod *chaosv1.ChaosPod) bool {
	if pod.Status.VerifiedTarget == "" {
		return pod.Status.ObservedGeneration == pod.Generation
	}
	if pod.Status.VerifiedTarget == chaosrules.Digest(pod.Spec.Target) {
		return true
	}
	defaulted := pod.DeepCopy()
	chaosrules.Default(defaulted)
	return pod.Status.VerifiedTarget == chaosrules.Digest(defaulted.Spec.Target)
}

// addDependency adds what is known of the workloads that depend on an ExternalService while it was absent: the last fault has each
// of them, and earlier records have none.
func (b *builder) addDependency(o *inspect.Object, service *networkingv1.ExternalService) {
	for i := range service.Status.History {
		r := &service.Status.History[i]
		if r.Type == networkingv1.ChangeFailback || r.Reason == networkingv1.ReasonFaultInjected || isOf(r, service.Status.Fault) {
			continue
		}
		e := evidenceOf(o.Key, &r.Record)
		e.Message = sentence(r.Type, e.Message, "whether the workload stayed ready meanwhile is not in the record")
		b.addToDependants(o, nil, inconclusive, e)
	}
	if f := service.Status.Fault; f != nil {
		b.addFault(o, service, f)
	}
}

// isOf reports whether a record is that of the last fault.
func isOf(r *networkingv1.ChangeRecord, f *networkingv1.FaultStatus) bool {
	return r.Type == networkingv1.ChangeFault && f != nil && f.CompletionTime != nil && r.CompletionTime.Equal(f.CompletionTime)
}

// addFault adds the last fault. A part of the addresses that is taken away is no absent dependency.
func (b *builder) addFault(o *inspect.Object, service *networkingv1.ExternalService, f *networkingv1.FaultStatus) {
	said := sentence("fault "+string(f.Request), f.Message)
	e := Evidence{Object: o.Key, Time: cmp.Or(f.CompletionTime, f.StartTime), Reason: f.Outcome, Message: said}
	for i := range service.Status.History {
		if r := &service.Status.History[i]; isOf(r, f) {
			e.Record = r.ID
		}
	}
	if f.StartTime != nil && f.CompletionTime != nil {
		e.Message = sentence(e.Message, "it lasted "+string(common.DurationOf(f.CompletionTime.Sub(f.StartTime.Time))))
	}
	named := map[inspect.Key]bool{}
	for i := range f.Dependants {
		d, one, result := &f.Dependants[i], e, inconclusive
		one.Result = string(d.Ready)
		isWhole := f.Type == networkingv1.FaultBlackHole &&
			(f.Outcome == networkingv1.FaultOutcomeDeadlineReached || f.Outcome == networkingv1.FaultOutcomeWithdrawn)
		switch {
		case d.Ready == networkingv1.DependantBecameUnready:
			result = failed
		case d.Ready != networkingv1.DependantStayedReady:
		case isWhole:
			result = survived
		case f.Lasts():
			one.Message = sentence(one.Message, "it lasts")
		case f.Type != networkingv1.FaultBlackHole:
			one.Message = sentence(one.Message, "a part of the addresses was taken away, and not all")
		}
		key := inspect.Key{Kind: d.Kind, Namespace: o.Namespace, Name: d.Name}
		named[key] = true
		b.add(claim{key, AbsentDependency, o.Name}, result, one)
	}
	e.Result = cmp.Or(f.Outcome, string(f.Type))
	e.Message = sentence(e.Message, "the record does not name the workload")
	b.addToDependants(o, named, inconclusive, e)
}

// addToDependants adds evidence to the workloads that depend on an ExternalService, without some.
func (b *builder) addToDependants(o *inspect.Object, without map[inspect.Key]bool, result outcome, e Evidence) {
	add := func(w *inspect.Object) {
		if inspect.IsWorkload(w.Kind) && !without[w.Key] {
			b.add(claim{w.Key, AbsentDependency, o.Name}, result, e)
		}
	}
	for _, r := range o.NeededBy {
		add(r.Object)
		if r.Object.Kind != inspect.RebootPolicy {
			continue
		}
		for _, target := range r.Object.Needs {
			if target.IsTarget() {
				add(target.Object)
			}
		}
	}
}

// remedy is what would prove a claim.
func (b *builder) remedy(o *inspect.Object, p *Proof) (text string) {
	target := fmt.Sprintf("%s %s", o.Kind, o.Name)
	switch p.Disruption {
	case LostPod:
		text = "Make a ChaosPod with " + target + " as target.workload, and dryRun false."
		if by := actsOn(o, inspect.ChaosPod); by != nil {
			text = "Request a run: `fairlead run " + by.Argument() + " -n " + by.Namespace + "`."
			if pod, is := by.Source.(*chaosv1.ChaosPod); is {
				text = unless(by, ptr.Deref(pod.Spec.DryRun, true), ptr.Deref(pod.Spec.Suspend, false), pod.Status.Halt != nil, text)
			}
		}
	case Restart:
		text = "Make a RebootPolicy with " + target + " as one of its targets."
		if by := actsOn(o, inspect.RebootPolicy); by != nil {
			text = "Request a restart: `fairlead restart " + by.Argument() + " -n " + by.Namespace + "`."
			if policy, is := by.Source.(*autorebootv1.RebootPolicy); is {
				text = unless(by, ptr.Deref(policy.Spec.DryRun, false), ptr.Deref(policy.Spec.Suspend, false), policy.Status.Halt != nil, text)
			}
		}
	default:
		service := inspect.Key{Kind: inspect.ExternalService, Namespace: o.Namespace, Name: p.Dependency}
		text = "Inject a fault: `fairlead fault " + service.Argument() + " BlackHole --for=5m -n " + o.Namespace + "`."
		if found := b.graph.Find(service); found == nil || found.Source == nil {
			text = "There is no " + service.String() + ": create it, or correct what names it."
		}
	}
	if p.Verdict == Failed {
		text = "Find out why: `fairlead why " + o.Argument() + " -n " + o.Namespace + "`. Then prove it again. " + text
	}
	return text
}

// actsOn returns an object of a kind that has a workload as its target; nil for none.
func actsOn(o *inspect.Object, kind string) *inspect.Object {
	for _, r := range o.NeededBy {
		if r.Object.Kind == kind && r.IsTarget() {
			return r.Object
		}
	}
	return nil
}

// unless is the request for a run or a restart, after what must be done before it can begin; a dry run needs no request.
func unless(o *inspect.Object, isDryRun, isSuspended, hasHalted bool, request string) string {
	switch {
	case isDryRun:
		return "Set spec.dryRun of " + o.Kind + " " + o.Name + " to false: a dry run proves nothing."
	case isSuspended:
		return "Set spec.suspend of " + o.Kind + " " + o.Name + " to false. " + request
	case hasHalted:
		return "End the halt: `fairlead resume " + o.Argument() + " -n " + o.Namespace + "`. " + request
	}
	return request
}

// sentence joins parts of a message.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// upper begins a text as a sentence.
func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
