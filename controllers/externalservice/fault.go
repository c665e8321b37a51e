// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// faultPace is how often it is looked whether a fault may last, and how its dependants fare.
	faultPace = 5 * time.Second
	// clockTolerance is how far the clock may be set back without ending a fault.
	clockTolerance = 5 * time.Second
	// maxDependants is how many dependants the status lists; the API has the same limit.
	maxDependants = 32
)

// faultCase is what a decision about a fault depends on.
type faultCase struct {
	// now is the time, and latest the latest at which this process has decided.
	now, latest time.Time
	// asked is the annotation, and stored what the status has.
	asked  string
	stored *networkingv1.FaultStatus
	// ended is the last fault that this process has ended, whether that was stored or not.
	ended *networkingv1.FaultStatus
	// active is the priority that is published without a fault.
	active *int32
	// waits says what must be known before a fault begins; empty where all is known.
	waits string
	// hinders returns the outcome of a fault that must not begin or go on, and why; empty where it may.
	// begins says that it has not begun.
	hinders func(f *networkingv1.FaultStatus, begins bool) (outcome, why string)
	// dependants are those that there are now, as StayedReady, UnreadyBefore or Unreadable.
	dependants []networkingv1.FaultDependant
}

// fault is what was decided about one.
type fault struct {
	// status is what the status is to hold; nil where no fault was ever asked for.
	status *networkingv1.FaultStatus
	// effect says that the fault is stored and lasts, so that what is published shows it.
	effect bool
	// reason and message say why what the annotation asks for is not in the status; empty where it is.
	reason, message string
	// again is when to decide again although nothing will have changed. Zero if never.
	again time.Time
}

// judge decides. A fault that begins has no effect until its status is stored.
func (c *faultCase) judge() fault {
	switch {
	case c.stored.Lasts():
		return c.proceed()
	case c.asked == "", c.stored != nil && c.stored.Request == c.asked:
		return fault{status: c.stored}
	}
	request, err := rules.ParseFault(c.asked)
	switch {
	case err != nil:
		return c.turnAway(err.Error())
	case c.stored != nil && !request.At.After(c.stored.RequestTime.Time):
		return c.turnAway(fmt.Sprintf("a request with the time %s was acted upon already: a further one must have a later time",
			c.stored.RequestTime.UTC().Format(time.RFC3339)))
	case c.now.Before(request.At):
		return c.wait("the fault begins at "+request.At.Format(time.RFC3339), request.At)
	}
	return c.begin(&request)
}

func (c *faultCase) turnAway(why string) fault {
	return fault{status: c.stored, reason: networkingv1.ReasonFaultRefused, message: why}
}

func (c *faultCase) wait(why string, until time.Time) fault {
	return fault{status: c.stored, reason: networkingv1.ReasonFaultPending, message: why, again: until}
}

// begin begins a fault or refuses it. Either is in the status, so that a clock that is set back, or an
// annotation that is applied again, begins nothing later.
func (c *faultCase) begin(request *rules.FaultRequest) fault {
	f := &networkingv1.FaultStatus{
		Request: c.asked, Type: request.Type, Endpoint: request.Endpoint, Priority: c.active,
		RequestTime: metav1.NewTime(request.At.Truncate(time.Second)), Deadline: metav1.NewTime(request.Deadline().Truncate(time.Second)),
	}
	late := !c.now.Before(f.Deadline.Time)
	if !late && c.waits != "" {
		return c.wait(c.waits, controller.Earliest(f.Deadline.Time, c.now.Add(faultPace)))
	}
	why := "its time was over at " + f.Deadline.UTC().Format(time.RFC3339)
	if !late {
		_, why = c.hinders(f, true)
	}
	if why != "" {
		f.Outcome, f.Message, f.EndTime = networkingv1.FaultOutcomeRefused, events.Cut(why, maxMessage), moment(c.now)
		return fault{status: f}
	}
	f.StartTime, f.Dependants = moment(c.now), c.dependants[:min(len(c.dependants), maxDependants)]
	return fault{status: f, again: c.now.Add(controller.StaleRetry)}
}

// proceed continues a fault or ends it.
func (c *faultCase) proceed() fault {
	if c.ended != nil && c.ended.Request == c.stored.Request {
		return fault{status: c.ended, again: c.now.Add(controller.StaleRetry)}
	}
	f := c.stored.DeepCopy()
	f.Dependants = fared(f.Dependants, c.dependants)
	outcome, why := c.ends(f)
	if outcome == "" {
		return fault{status: f, effect: true, again: controller.Earliest(f.Deadline.Time, c.now.Add(faultPace))}
	}
	end(f, outcome, why, c.now)
	return fault{status: f, again: c.now.Add(controller.StaleRetry)} // another may have been asked for
}

// ends returns why a fault ends; empty where it lasts.
func (c *faultCase) ends(f *networkingv1.FaultStatus) (outcome, why string) {
	begun := c.now.Add(clockTolerance)
	switch {
	case !c.now.Before(f.Deadline.Time):
		return networkingv1.FaultOutcomeDeadlineReached, "its time is over"
	case c.asked != f.Request:
		return networkingv1.FaultOutcomeWithdrawn, "the annotation was removed or changed"
	case begun.Before(f.StartTime.Time), begun.Before(c.latest):
		return networkingv1.FaultOutcomeClockChanged, "the clock was set back"
	}
	return c.hinders(f, false)
}

// end records that a fault has ended.
func end(f *networkingv1.FaultStatus, outcome, why string, now time.Time) {
	f.Outcome, f.Message, f.EndTime = outcome, events.Cut(why, maxMessage), moment(now)
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

// fared returns the dependants of a fault as they have fared up to now: what is worse than before
// stays, and comes first.
func fared(before, now []networkingv1.FaultDependant) []networkingv1.FaultDependant {
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

// broken is the decision that a fault makes of what is known outside. The one without it goes on
// beside it, so that nothing has to be undone in the end.
func broken(f *networkingv1.FaultStatus, all []site, c circumstances) decision {
	c.requested, c.panicThreshold, c.panicking = false, 0, false
	switch f.Type {
	case networkingv1.FaultDrain:
		all = slices.Clone(all)
		for i := range all {
			all[i].drained = all[i].drained || all[i].Name == f.Endpoint
		}
	case networkingv1.FaultFailOver:
		members := slices.DeleteFunc(membersOf(all), func(m member) bool { return f.Priority != nil && m.priority <= *f.Priority })
		return decide(members, c)
	case networkingv1.FaultBlackHole:
	}
	d := decide(membersOf(all), c)
	if f.Type == networkingv1.FaultBlackHole {
		for i := range d.publish {
			d.publish[i].ready = false
		}
	}
	return d
}
