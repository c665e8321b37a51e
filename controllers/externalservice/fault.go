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
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// faultInterval is how often it is looked whether a fault may last, and how its dependants fare.
	faultInterval = 5 * time.Second
	// clockTolerance is how far the clock may be set back without ending a fault.
	clockTolerance = 5 * time.Second
	// maxDependants is how many dependants the status lists; the API has the same limit.
	maxDependants = 32
)

// faultInput is what a decision about a fault depends on.
type faultInput struct {
	// now is the time, and latest the latest at which this process has decided.
	now, latestDecision time.Time
	// requested is the annotation, and stored what the status has.
	requested string
	stored    *networkingv1.FaultStatus
	// ended is the last fault that this process has ended, whether that was stored or not.
	ended *networkingv1.FaultStatus
	// active is the priority that is published without a fault.
	active *int32
	// unknown says what must be known before a fault begins; empty where all is known.
	unknown string
	// obstacle returns the outcome of a fault that must not begin or go on, and why; empty where it may.
	// begins says that it has not begun.
	obstacle func(f *networkingv1.FaultStatus, begins bool) (outcome, why string)
	// dependants are those that there are now, as StayedReady, UnreadyBefore or Unreadable.
	dependants []networkingv1.FaultDependant
}

// faultDecision is what was decided about one.
type faultDecision struct {
	// status is what the status is to hold; nil where no fault was ever asked for.
	status *networkingv1.FaultStatus
	// inEffect says that the fault is stored and lasts, so that what is published shows it.
	inEffect bool
	// reason and message say why what the annotation asks for is not in the status; empty where it is.
	reason, message string
	// requeueAt is when to decide again although nothing will have changed. Zero if never.
	requeueAt time.Time
}

// decide decides. A fault that begins has no effect until its status is stored.
func (c *faultInput) decide() faultDecision {
	switch {
	case c.stored.Lasts():
		return c.proceed()
	case c.requested == "", c.stored != nil && c.stored.Request == c.requested:
		return faultDecision{status: c.stored}
	}
	request, err := rules.ParseFault(c.requested)
	switch {
	case err != nil:
		return c.refuse(err.Error())
	case c.stored != nil && !request.At.After(c.stored.RequestTime.Time):
		return c.refuse(fmt.Sprintf("a request with the time %s was acted upon already: a further one must have a later time",
			c.stored.RequestTime.UTC().Format(time.RFC3339)))
	case c.now.Before(request.At):
		return c.postpone("the fault begins at "+request.At.Format(time.RFC3339), request.At)
	}
	return c.begin(&request)
}

func (c *faultInput) refuse(why string) faultDecision {
	return faultDecision{status: c.stored, reason: networkingv1.ReasonFaultRefused, message: why}
}

func (c *faultInput) postpone(why string, until time.Time) faultDecision {
	return faultDecision{status: c.stored, reason: networkingv1.ReasonFaultPending, message: why, requeueAt: until}
}

// begin begins a fault or refuses it. Either is in the status, so that a clock that is set back, or an
// annotation that is applied again, begins nothing later.
func (c *faultInput) begin(request *rules.FaultRequest) faultDecision {
	f := &networkingv1.FaultStatus{
		Request: c.requested, Type: request.Type, Endpoint: request.Endpoint, Priority: c.active,
		RequestTime: metav1.NewTime(request.At.Truncate(time.Second)), Deadline: metav1.NewTime(request.Deadline().Truncate(time.Second)),
	}
	late := !c.now.Before(f.Deadline.Time)
	if !late && c.unknown != "" {
		return c.postpone(c.unknown, controller.Earliest(f.Deadline.Time, c.now.Add(faultInterval)))
	}
	why := "its time was over at " + f.Deadline.UTC().Format(time.RFC3339)
	if !late {
		_, why = c.obstacle(f, true)
	}
	if why != "" {
		f.Outcome, f.Message, f.EndTime = networkingv1.FaultOutcomeRefused, events.Cut(why, maxMessage), statusTime(c.now)
		return faultDecision{status: f}
	}
	f.StartTime, f.Dependants = statusTime(c.now), c.dependants[:min(len(c.dependants), maxDependants)]
	return faultDecision{status: f, requeueAt: c.now.Add(controller.StaleRetry)}
}

// proceed continues a fault or ends it.
func (c *faultInput) proceed() faultDecision {
	if c.ended != nil && c.ended.Request == c.stored.Request {
		return faultDecision{status: c.ended, requeueAt: c.now.Add(controller.StaleRetry)}
	}
	f := c.stored.DeepCopy()
	f.Dependants = mergeDependants(f.Dependants, c.dependants)
	outcome, why := c.endReason(f)
	if outcome == "" {
		return faultDecision{status: f, inEffect: true, requeueAt: controller.Earliest(f.Deadline.Time, c.now.Add(faultInterval))}
	}
	endFault(f, outcome, why, c.now)
	return faultDecision{status: f, requeueAt: c.now.Add(controller.StaleRetry)} // another may have been asked for
}

// endReason returns why a fault ends; empty where it lasts.
func (c *faultInput) endReason(f *networkingv1.FaultStatus) (outcome, why string) {
	begun := c.now.Add(clockTolerance)
	switch {
	case !c.now.Before(f.Deadline.Time):
		return networkingv1.FaultOutcomeDeadlineReached, "its time is over"
	case c.requested != f.Request:
		return networkingv1.FaultOutcomeWithdrawn, "the annotation was removed or changed"
	case begun.Before(f.StartTime.Time), begun.Before(c.latestDecision):
		return networkingv1.FaultOutcomeClockChanged, "the clock was set back"
	}
	return c.obstacle(f, false)
}

// endFault records that a fault has ended.
func endFault(f *networkingv1.FaultStatus, outcome, why string, now time.Time) {
	f.Outcome, f.Message, f.EndTime = outcome, events.Cut(why, maxMessage), statusTime(now)
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

// mergeDependants returns the dependants of a fault as they have fared up to now: what is worse than before
// stays, and comes first.
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

// withFault is the decision that a fault makes of what is known outside. The one without it goes on
// beside it, so that nothing has to be undone in the end.
func withFault(f *networkingv1.FaultStatus, all []resolvedEndpoint, c failoverInput) decision {
	c.failbackRequested, c.panicThreshold, c.panicking = false, 0, false
	switch f.Type {
	case networkingv1.FaultDrain:
		all = slices.Clone(all)
		for i := range all {
			all[i].drained = all[i].drained || all[i].Name == f.Endpoint
		}
	case networkingv1.FaultFailOver:
		members := slices.DeleteFunc(candidatesOf(all), func(m candidate) bool { return f.Priority != nil && m.priority <= *f.Priority })
		return decide(members, c)
	case networkingv1.FaultBlackHole:
	}
	d := decide(candidatesOf(all), c)
	if f.Type == networkingv1.FaultBlackHole {
		for i := range d.published {
			d.published[i].ready = false
		}
	}
	return d
}

// Events about faults, and what the operator was doing.
const (
	eventFaultInjected = "FaultInjected"
	eventFaultEnded    = "FaultEnded"
	eventFaultRefused  = "FaultRefused"
	actionInject       = "InjectFault"
)

// setFault records what was decided about a fault.
func (r *statusUpdate) setFault(f *faultDecision, asked string) {
	r.status.Fault = f.status
	set := func(status metav1.ConditionStatus, reason, message string) {
		r.setCondition(networkingv1.ConditionFaultInjected, status, reason, message)
	}
	switch s := f.status; {
	case s.Lasts():
		set(metav1.ConditionTrue, string(s.Type), faultWords(s)+" until "+s.Deadline.UTC().Format(time.RFC3339))
	case asked == "":
		r.removeCondition(networkingv1.ConditionFaultInjected)
	case f.reason != "":
		set(metav1.ConditionFalse, f.reason, f.message)
	case s.Outcome == networkingv1.FaultOutcomeRefused:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultRefused, s.Message)
	default:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultEnded, endWords(s))
	}
}

// setFaultWhileSuspended records, of an object that is suspended or whose spec is not valid, that no fault begins.
func (r *statusUpdate) setFaultWhileSuspended(asked string, now time.Time) {
	switch f := r.status.Fault; {
	case f.Lasts():
		if f.Type == networkingv1.FaultBlackHole { // which suspended has taken back
			endFault(f, networkingv1.FaultOutcomeSpecChanged, "the spec is not valid any more", now)
			r.setFault(&faultDecision{status: f}, asked)
		}
	case asked == "", f != nil && f.Request == asked:
		r.setFault(&faultDecision{status: f}, asked)
	default:
		r.setFault(&faultDecision{status: f, reason: networkingv1.ReasonFaultPending, message: "nothing is done while spec.suspend is true or the spec is not valid"}, asked)
	}
}

// faultWords say what a fault does.
func faultWords(f *networkingv1.FaultStatus) string {
	switch f.Type {
	case networkingv1.FaultDrain:
		return fmt.Sprintf("nothing of endpoint %q is published", f.Endpoint)
	case networkingv1.FaultFailOver:
		return "the next priority is published although no failover is needed"
	case networkingv1.FaultBlackHole:
	}
	return "no address is published as ready"
}

// endWords say how a fault ended, and how its dependants fared.
func endWords(f *networkingv1.FaultStatus) string {
	count := map[networkingv1.DependantReadiness]int{}
	for _, d := range f.Dependants {
		count[d.Ready]++
	}
	words := fmt.Sprintf("%s ended after %s: %s: %s; ", f.Type, f.EndTime.Sub(f.StartTime.Time), f.Outcome, f.Message)
	all := plural(len(f.Dependants), "dependant", "dependants")
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

// faultTransitions is a fault that begins, ends or is refused.
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
