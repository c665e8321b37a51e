// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// faultInterval is how often a fault that lasts is decided about again.
	faultInterval = 5 * time.Second
	// clockTolerance is how far the clock may be set back without ending a fault.
	clockTolerance = 5 * time.Second
	// maxDependants limits the dependants in the status, as the API does.
	maxDependants = 32
)

// faultInput is what the decision about a fault depends on.
type faultInput struct {
	// latestDecision is the latest time at which this process has decided.
	now, latestDecision time.Time
	// requested is the annotation, and stored the fault of the status.
	requested string
	stored    *networkingv1.FaultStatus
	// ended is the last fault that this process has ended, stored or not.
	ended *networkingv1.FaultStatus
	// active is the priority that is published without a fault.
	active *int32
	// unknown is what must be known before a fault begins, or is empty.
	unknown string
	// obstacle returns the outcome of a fault that must not begin or go on, and why; empty where it may.
	// begins means that it has not begun.
	obstacle func(f *networkingv1.FaultStatus, begins bool) (outcome, why string)
	// dependants are the present ones, each StayedReady, UnreadyBefore or Unreadable.
	dependants []networkingv1.FaultDependant
}

// faultDecision is the decision about a fault.
type faultDecision struct {
	// status is the fault to store; nil where none was ever requested.
	status *networkingv1.FaultStatus
	// inEffect means that the fault is stored and lasts: it changes what is published.
	inEffect bool
	// Reason and message say why the requested fault is not in the status; empty where it is.
	reason, message string
	// unstored means that the fault begins or ends by this decision. Nothing else is decided until its status is stored.
	unstored bool
	// requeueAt is when time alone changes the decision. Zero means never.
	requeueAt time.Time
}

// decide returns the decision. A fault that begins has no effect until its status is stored.
func (in *faultInput) decide() faultDecision {
	switch {
	case in.stored.Lasts():
		return in.proceed()
	case in.requested == "", in.stored != nil && in.stored.Request == in.requested:
		return faultDecision{status: in.stored}
	}
	request, err := rules.ParseFault(in.requested)
	switch {
	case err != nil:
		return in.refuse(err.Error())
	case in.stored != nil && !request.At.After(in.stored.RequestTime.Time):
		return in.refuse(fmt.Sprintf("a request with the time %s has been handled already: a new one needs a later time",
			in.stored.RequestTime.UTC().Format(time.RFC3339)))
	case in.now.Before(request.At):
		return in.postpone("the fault begins at "+request.At.Format(time.RFC3339), request.At)
	}
	return in.begin(&request)
}

func (in *faultInput) refuse(why string) faultDecision {
	return faultDecision{status: in.stored, reason: networkingv1.ReasonFaultRefused, message: why}
}

func (in *faultInput) postpone(why string, until time.Time) faultDecision {
	return faultDecision{status: in.stored, reason: networkingv1.ReasonFaultPending, message: why, requeueAt: until}
}

// begin begins a fault or refuses it. Either is stored, so that a clock that is set back, or an annotation that
// is applied again, begins no fault later.
func (in *faultInput) begin(request *rules.FaultRequest) faultDecision {
	f := &networkingv1.FaultStatus{
		Request: in.requested, Type: request.Type, Endpoint: request.Endpoint, Priority: in.active,
		RequestTime: metav1.NewTime(request.At.Truncate(time.Second)), Deadline: metav1.NewTime(request.Deadline().Truncate(time.Second)),
	}
	late := !in.now.Before(f.Deadline.Time)
	if !late && in.unknown != "" {
		return in.postpone(in.unknown, controller.Earliest(f.Deadline.Time, in.now.Add(faultInterval)))
	}
	why := "its time was over at " + f.Deadline.UTC().Format(time.RFC3339)
	if !late {
		_, why = in.obstacle(f, true)
	}
	if why != "" {
		f.Outcome, f.Message, f.EndTime = networkingv1.FaultOutcomeRefused, text.Truncate(why, maxMessage), statusTime(in.now)
		return faultDecision{status: f}
	}
	f.StartTime, f.Dependants = statusTime(in.now), in.dependants[:min(len(in.dependants), maxDependants)]
	return faultDecision{status: f, unstored: true}
}

// proceed continues a fault or ends it.
func (in *faultInput) proceed() faultDecision {
	if in.ended != nil && in.ended.Request == in.stored.Request {
		return faultDecision{status: in.ended, unstored: true}
	}
	f := in.stored.DeepCopy()
	f.Dependants = mergeDependants(f.Dependants, in.dependants)
	outcome, why := in.endReason(f)
	if outcome == "" {
		return faultDecision{status: f, inEffect: true, requeueAt: controller.Earliest(f.Deadline.Time, in.now.Add(faultInterval))}
	}
	endFault(f, outcome, why, in.now)
	return faultDecision{status: f, unstored: true} // another may have been requested
}

// endReason returns why a fault ends, or "".
func (in *faultInput) endReason(f *networkingv1.FaultStatus) (outcome, why string) {
	begun := in.now.Add(clockTolerance)
	switch {
	case !in.now.Before(f.Deadline.Time):
		return networkingv1.FaultOutcomeDeadlineReached, "its time is over"
	case in.requested != f.Request:
		return networkingv1.FaultOutcomeWithdrawn, "the annotation was removed or changed"
	case begun.Before(f.StartTime.Time), begun.Before(in.latestDecision):
		return networkingv1.FaultOutcomeClockChanged, "the clock was set back"
	}
	return in.obstacle(f, false)
}

// endFault sets that a fault has ended.
func endFault(f *networkingv1.FaultStatus, outcome, why string, now time.Time) {
	f.Outcome, f.Message, f.EndTime = outcome, text.Truncate(why, maxMessage), statusTime(now)
	f.DependantsStayedReady = metav1.ConditionTrue
	if len(f.Dependants) == 0 {
		f.DependantsStayedReady = metav1.ConditionUnknown
	}
	for _, d := range f.Dependants {
		switch d.Ready {
		case networkingv1.DependantStayedReady:
		case networkingv1.DependantBecameUnready:
			f.DependantsStayedReady = metav1.ConditionFalse
			return
		default:
			f.DependantsStayedReady = metav1.ConditionUnknown
		}
	}
}

// mergeDependants returns the dependants of a fault with their worst readiness up to now, the worst first.
func mergeDependants(before, now []networkingv1.FaultDependant) []networkingv1.FaultDependant {
	after := slices.Clone(before)
	for i := range after {
		d := &after[i]
		if d.Ready != networkingv1.DependantStayedReady {
			continue
		}
		at := slices.IndexFunc(now, func(n networkingv1.FaultDependant) bool { return n.Kind == d.Kind && n.Name == d.Name })
		switch {
		case at < 0, now[at].Ready == networkingv1.DependantUnreadable:
			d.Ready = networkingv1.DependantUnreadable
		case now[at].Ready != networkingv1.DependantStayedReady:
			d.Ready = networkingv1.DependantBecameUnready
		}
	}
	order := []networkingv1.DependantReadiness{
		networkingv1.DependantBecameUnready, networkingv1.DependantUnreadyBefore, networkingv1.DependantUnreadable, networkingv1.DependantStayedReady,
	}
	slices.SortStableFunc(after, func(a, b networkingv1.FaultDependant) int {
		return cmp.Compare(slices.Index(order, a.Ready), slices.Index(order, b.Ready))
	})
	return after
}

// withFault returns the decision under a fault. The one without it is made as well, so that nothing has to be
// undone in the end.
func withFault(f *networkingv1.FaultStatus, all []endpoints.Endpoint, in failoverInput) decision {
	in.failbackRequested, in.panicThreshold, in.panicking = false, 0, false
	switch f.Type {
	case networkingv1.FaultDrain:
		all = slices.Clone(all)
		for i := range all {
			all[i].IsDrained = all[i].IsDrained || all[i].Name == f.Endpoint
		}
	case networkingv1.FaultFailOver:
		candidates := slices.DeleteFunc(candidatesOf(all), func(m candidate) bool { return f.Priority != nil && m.priority <= *f.Priority })
		return decide(candidates, in)
	case networkingv1.FaultBlackHole:
	}
	d := decide(candidatesOf(all), in)
	if f.Type == networkingv1.FaultBlackHole {
		for i := range d.published {
			d.published[i].ready = false
		}
	}
	return d
}

// Events of faults.
const (
	eventFaultInjected = "FaultInjected"
	eventFaultEnded    = "FaultEnded"
	eventFaultRefused  = "FaultRefused"
	actionInject       = "InjectFault"
)

// setFault sets the decision about a fault.
func (u *statusUpdate) setFault(f *faultDecision, asked string) {
	u.status.Fault = f.status
	set := func(status metav1.ConditionStatus, reason, message string) {
		u.setCondition(networkingv1.ConditionFaultInjected, status, reason, message)
	}
	switch s := f.status; {
	case s.Lasts():
		set(metav1.ConditionTrue, string(s.Type), faultWords(s)+" until "+s.Deadline.UTC().Format(time.RFC3339))
	case asked == "":
		u.removeCondition(networkingv1.ConditionFaultInjected)
	case f.reason != "":
		set(metav1.ConditionFalse, f.reason, f.message)
	case s.Outcome == networkingv1.FaultOutcomeRefused:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultRefused, s.Message)
	default:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultEnded, endWords(s))
	}
}

// setFaultWhileSuspended sets that no fault begins while an object is suspended or its spec is not valid.
func (u *statusUpdate) setFaultWhileSuspended(asked string, now time.Time) {
	switch f := u.status.Fault; {
	case f.Lasts():
		if f.Type == networkingv1.FaultBlackHole { // which reconcileSuspended has undone
			endFault(f, networkingv1.FaultOutcomeSpecChanged, "the spec is no longer valid", now)
			u.setFault(&faultDecision{status: f}, asked)
		}
	case asked == "", f != nil && f.Request == asked:
		u.setFault(&faultDecision{status: f}, asked)
	default:
		u.setFault(&faultDecision{status: f, reason: networkingv1.ReasonFaultPending, message: "no fault begins while spec.suspend is true or the spec is not valid"}, asked)
	}
}

// faultWords returns what a fault does.
func faultWords(f *networkingv1.FaultStatus) string {
	switch f.Type {
	case networkingv1.FaultDrain:
		return fmt.Sprintf("nothing of endpoint %q is published", f.Endpoint)
	case networkingv1.FaultFailOver:
		return "the next tier is published although no failover is needed"
	case networkingv1.FaultBlackHole:
	}
	return "no address is published as ready"
}

// endWords returns how a fault ended, and whether its dependants stayed ready.
func endWords(f *networkingv1.FaultStatus) string {
	count := map[networkingv1.DependantReadiness]int{}
	for _, d := range f.Dependants {
		count[d.Ready]++
	}
	words := fmt.Sprintf("%s ended after %s: %s: %s; ", f.Type, f.EndTime.Sub(f.StartTime.Time), f.Outcome, f.Message)
	all := events.Plural(len(f.Dependants), "dependant", "dependants")
	switch f.DependantsStayedReady {
	case metav1.ConditionTrue:
		return words + all + " stayed ready"
	case metav1.ConditionFalse:
		return words + fmt.Sprintf("%d of %s became unready, the first is %s %s",
			count[networkingv1.DependantBecameUnready], all, f.Dependants[0].Kind, f.Dependants[0].Name)
	}
	if len(f.Dependants) == 0 {
		return words + "no RebootPolicy names this ExternalService"
	}
	return words + fmt.Sprintf("%d of %s stayed ready, the others were not ready before or could not be read",
		count[networkingv1.DependantStayedReady], all)
}

// faultTransitions are a fault that begins, ends or is refused.
func faultTransitions(before, after *networkingv1.ExternalServiceStatus) []transition {
	was := meta.FindStatusCondition(before.Conditions, networkingv1.ConditionFaultInjected)
	is := meta.FindStatusCondition(after.Conditions, networkingv1.ConditionFaultInjected)
	switch {
	case after.Fault.Lasts() && !before.Fault.Lasts():
		return []transition{{eventFaultInjected, actionInject, is.Message, true, ""}}
	case before.Fault.Lasts() && !after.Fault.Lasts():
		bad := after.Fault.DependantsStayedReady == metav1.ConditionFalse || after.Fault.Outcome != networkingv1.FaultOutcomeDeadlineReached &&
			after.Fault.Outcome != networkingv1.FaultOutcomeWithdrawn
		return []transition{{eventFaultEnded, actionInject, endWords(after.Fault), bad, ""}}
	case is != nil && is.Reason == networkingv1.ReasonFaultRefused && (was == nil || was.Reason != is.Reason || was.Message != is.Message):
		return []transition{{eventFaultRefused, actionInject, is.Message, true, ""}}
	}
	return nil
}
