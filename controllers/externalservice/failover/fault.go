// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// faultInterval is how often a fault that lasts is decided about again.
	faultInterval = 5 * time.Second
	// clockTolerance is how far the clock may be set back without ending a fault.
	clockTolerance = 5 * time.Second
	// maxMessage limits the message of a fault, in bytes, so that `kubectl describe` stays readable.
	maxMessage = 1024
	// maxDependants limits the dependants in the status, as the API does.
	maxDependants = 32
)

// faultInput holds what the decision about a fault depends on.
type faultInput struct {
	// latestDecision is the latest time at which this process has decided.
	now, latestDecision time.Time
	// requested is the annotation, firstSeen when this process first saw it, and stored the fault of the status.
	requested common.Token
	firstSeen time.Time
	stored    *networkingv1.FaultStatus
	// ended is the last fault that this process has ended, stored or not.
	ended *networkingv1.FaultStatus
	// active is the priority that is published without a fault.
	active *int32
	// unknown is a fact that is missing for a fault to begin; empty if none is.
	unknown string
	// obstacle keeps the fault that is decided about from beginning or going on.
	obstacle obstacle
	// dependants are the present ones, each StayedReady, UnreadyBefore or Unreadable.
	dependants []networkingv1.FaultDependant
}

// FaultDecision is the decision about a fault.
type FaultDecision struct {
	// Status is the fault to store; nil where none was ever requested.
	Status *networkingv1.FaultStatus
	// IsInEffect means that the fault is stored and lasts: it changes what is published.
	IsInEffect bool
	// Mistakes are those of Dependants.
	Mistakes string
	// Reason and Message say why the requested fault is not in the status; empty where it is.
	Reason, Message string
	// IsUnstored means that the fault begins or ends by this decision. Nothing else is decided until its status is stored.
	IsUnstored bool
	// RequeueAt is when time alone changes the decision. Zero means never.
	RequeueAt time.Time
}

// decideFault decides about the fault that an object requests or its status holds, and returns what to publish: actual, or
// the choice under the fault.
func (s *State) decideFault(in *Input, c criteria, actual *Choice) (FaultDecision, Choice) {
	es, now := in.Object, in.Now.Round(0)
	if !ConcernsFault(es) {
		return FaultDecision{Status: es.Status.Fault}, *actual
	}
	requested := requestedFault(es)
	fault := faultInput{
		now: now, latestDecision: s.latestDecision, requested: requested, firstSeen: s.fault.firstSeen(requested, now),
		stored: StoredFault(es, now), ended: s.endedFault, active: actual.Active, unknown: in.unknown(now), dependants: in.Dependants.All,
	}
	switch f, begins := fault.subject(); {
	case begins && in.Dependants.Disrupted != "":
		fault.obstacle = obstacle{networkingv1.FaultOutcomeRefused, in.Dependants.Disrupted}
	case f != nil:
		fault.obstacle = in.obstacleTo(f, c, actual, begins || now.Sub(s.FirstSeen) > blackoutGrace)
	}
	decided := fault.decide()
	decided.Mistakes = in.Dependants.Mistakes
	if now.After(s.latestDecision) {
		s.latestDecision = now
	}
	if !decided.IsInEffect {
		if fault.stored.Lasts() {
			s.endedFault, s.Cause = decided.Status, networkingv1.ReasonFaultEnded
		}
		return decided, *actual
	}
	shown := withFault(decided.Status, in.Observed.Endpoints, c)
	shown.RequeueAt = controller.Earliest(shown.RequeueAt, actual.RequeueAt)
	return decided, shown
}

// faultRequest is a fault that was requested, and when this process first saw that.
type faultRequest struct {
	token common.Token
	at    time.Time
}

// firstSeen returns when this process first saw a request.
func (r *faultRequest) firstSeen(token common.Token, now time.Time) time.Time {
	if r.token != token || now.Before(r.at) {
		*r = faultRequest{token, now}
	}
	return r.at
}

// requestedFault returns the annotation, readable or not.
func requestedFault(es *networkingv1.ExternalService) common.Token {
	return common.Token(es.Annotations[networkingv1.InjectFaultAnnotation])
}

// StoredFault returns the fault of the status. An object without a status, which may be restored from a backup, has the
// refusal of the fault that it requests without a time.
func StoredFault(es *networkingv1.ExternalService, now time.Time) *networkingv1.FaultStatus {
	if es.Status.ObservedGeneration > 0 || es.Status.Fault != nil {
		return es.Status.Fault
	}
	requested := requestedFault(es)
	if request, err := rules.ParseFault(requested); err != nil || !request.At.IsZero() {
		return nil
	}
	return RefuseFault(es, nil, requests.Ignored(networkingv1.InjectFaultAnnotation, requested), now).Status
}

// ConcernsFault reports whether an object requests a fault or has one that lasts.
func ConcernsFault(es *networkingv1.ExternalService) bool {
	return requestedFault(es) != "" || es.Status.Fault.Lasts()
}

// NeedsDependants reports whether a decision about a fault depends on the dependants.
func NeedsDependants(es *networkingv1.ExternalService) bool {
	f := es.Status.Fault
	return ConcernsFault(es) && (f == nil || f.Lasts() || f.Request != requestedFault(es))
}

// RefuseFault returns the decision about a fault that is requested while none can begin. One that is requested for later
// is not refused yet.
func RefuseFault(es *networkingv1.ExternalService, stored *networkingv1.FaultStatus, why string, now time.Time) FaultDecision {
	in := faultInput{now: now, requested: requestedFault(es), firstSeen: now, stored: stored, obstacle: obstacle{why: why}}
	return in.decide()
}

// decide returns the decision. A fault that begins has no effect until its status is stored.
func (in *faultInput) decide() FaultDecision {
	switch {
	case in.stored.Lasts():
		return in.proceed()
	case in.requested == "", in.stored != nil && in.stored.Request == in.requested:
		return FaultDecision{Status: in.stored}
	}
	request, err := rules.ParseFault(in.requested)
	switch {
	case err != nil:
		return FaultDecision{Status: in.stored, Reason: networkingv1.ReasonFaultRefused, Message: err.Error()}
	case in.now.Before(request.At):
		return in.postpone("the fault begins at "+request.At.Format(time.RFC3339), request.At)
	}
	return in.begin(in.newFault(&request))
}

// subject returns the fault that is decided about, and whether it has not begun; nil where there is none.
func (in *faultInput) subject() (f *networkingv1.FaultStatus, begins bool) {
	if in.stored.Lasts() {
		return in.stored, false
	}
	request, err := rules.ParseFault(in.requested)
	if err != nil {
		return nil, false
	}
	return in.newFault(&request), true
}

func (in *faultInput) newFault(request *rules.FaultRequest) *networkingv1.FaultStatus {
	from := request.At
	if from.IsZero() {
		from = in.firstSeen.UTC().Add(time.Second - 1) // the status has whole seconds
	}
	return &networkingv1.FaultStatus{Request: in.requested, Type: request.Type, Endpoint: request.Endpoint, Priority: in.active,
		DeadlineTime: metav1.NewTime(from.Add(request.For).Truncate(time.Second))}
}

func (in *faultInput) postpone(why string, until time.Time) FaultDecision {
	return FaultDecision{Status: in.stored, Reason: networkingv1.ReasonFaultPending, Message: why, RequeueAt: until}
}

// begin begins a fault or refuses it. Either is stored, so that a clock that is set back, or an annotation that
// is applied again, begins no fault later.
func (in *faultInput) begin(f *networkingv1.FaultStatus) FaultDecision {
	late := !in.now.Before(f.DeadlineTime.Time)
	if !late && in.unknown != "" {
		return in.postpone(in.unknown, controller.Earliest(f.DeadlineTime.Time, in.now.Add(faultInterval)))
	}
	why := "its time was over at " + f.DeadlineTime.UTC().Format(time.RFC3339)
	if !late {
		why = in.obstacle.why
	}
	if why != "" {
		f.Outcome, f.Message, f.CompletionTime = networkingv1.FaultOutcomeRefused, text.Truncate(why, maxMessage), StatusTime(in.now)
		return FaultDecision{Status: f}
	}
	f.StartTime, f.Dependants = StatusTime(in.now), in.dependants[:min(len(in.dependants), maxDependants)]
	return FaultDecision{Status: f, IsUnstored: true}
}

// proceed continues a fault or ends it.
func (in *faultInput) proceed() FaultDecision {
	if in.ended != nil && in.ended.Request == in.stored.Request {
		return FaultDecision{Status: in.ended, IsUnstored: true}
	}
	f := in.stored.DeepCopy()
	f.Dependants = mergeDependants(f.Dependants, in.dependants)
	outcome, why := in.endReason(f)
	if outcome == "" {
		return FaultDecision{Status: f, IsInEffect: true, RequeueAt: controller.Earliest(f.DeadlineTime.Time, in.now.Add(faultInterval))}
	}
	EndFault(f, outcome, why, in.now)
	return FaultDecision{Status: f, IsUnstored: true} // another may have been requested
}

// endReason returns why a fault ends, or "".
func (in *faultInput) endReason(f *networkingv1.FaultStatus) (outcome, why string) {
	begun := in.now.Add(clockTolerance)
	switch {
	case !in.now.Before(f.DeadlineTime.Time):
		return networkingv1.FaultOutcomeDeadlineReached, "its time is over"
	case in.requested != f.Request:
		return networkingv1.FaultOutcomeWithdrawn, "the annotation was removed or changed"
	case begun.Before(f.StartTime.Time), begun.Before(in.latestDecision):
		return networkingv1.FaultOutcomeClockChanged, "the clock was set back"
	}
	return in.obstacle.outcome, in.obstacle.why
}

// EndFault sets that a fault has ended.
func EndFault(f *networkingv1.FaultStatus, outcome, why string, now time.Time) {
	f.Outcome, f.Message, f.CompletionTime = outcome, text.Truncate(why, maxMessage), StatusTime(now)
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
		networkingv1.DependantBecameUnready, networkingv1.DependantUnreadyBefore,
		networkingv1.DependantUnreadable, networkingv1.DependantStayedReady,
	}
	slices.SortStableFunc(after, func(a, b networkingv1.FaultDependant) int {
		return cmp.Compare(slices.Index(order, a.Ready), slices.Index(order, b.Ready))
	})
	return after
}

// withFault returns the choice under a fault. The one without it is made as well, so that nothing has to be
// undone in the end.
func withFault(f *networkingv1.FaultStatus, all []endpoints.Endpoint, in criteria) Choice {
	in.failbackRequested, in.panicThreshold, in.isPanicking = false, 0, false
	switch f.Type {
	case networkingv1.FaultDrain:
		all = slices.Clone(all)
		for i := range all {
			all[i].IsDrained = all[i].IsDrained || all[i].Name == f.Endpoint
		}
	case networkingv1.FaultFailOver:
		candidates := slices.DeleteFunc(candidatesOf(all), func(m Candidate) bool { return f.Priority != nil && m.Priority <= *f.Priority })
		return choose(candidates, in)
	case networkingv1.FaultBlackHole:
	}
	d := choose(candidatesOf(all), in)
	if f.Type == networkingv1.FaultBlackHole {
		for i := range d.Published {
			d.Published[i].IsReady = false
		}
	}
	return d
}

// StatusTime returns a time as the API server stores it: in whole seconds, or nil for zero.
func StatusTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// EndMessage returns how a fault ended, and whether its dependants stayed ready.
func EndMessage(f *networkingv1.FaultStatus) string {
	count := map[networkingv1.DependantReadiness]int{}
	for _, d := range f.Dependants {
		count[d.Ready]++
	}
	lasted := common.DurationOf(f.CompletionTime.Sub(f.StartTime.Time))
	words := fmt.Sprintf("%s ended after %s: %s: %s; ", f.Type, lasted, f.Outcome, f.Message)
	all := events.Plural(len(f.Dependants), "dependant", "dependants")
	switch f.DependantsStayedReady {
	case metav1.ConditionTrue:
		return words + all + " stayed ready"
	case metav1.ConditionFalse:
		return words + fmt.Sprintf("%d of %s became unready, the first is %s %s",
			count[networkingv1.DependantBecameUnready], all, f.Dependants[0].Kind, f.Dependants[0].Name)
	}
	if len(f.Dependants) == 0 {
		return words + "no workload is known to depend on this ExternalService"
	}
	return words + fmt.Sprintf("%d of %s stayed ready, the others were not ready before or could not be read",
		count[networkingv1.DependantStayedReady], all)
}
