// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// statusWrite is how a write of a status begins, in the order of refusable the last.
const statusWrite = "patch status ExternalService"

// refusable are the beginnings of the writes that an API server may refuse.
var refusable = []string{
	"apply Service", "apply EndpointSlice", "delete EndpointSlice", "patch ExternalService", "delete Service", statusWrite,
}

// waysToRefuse are how it does so: by a quota, by an admission policy, and by a webhook that fails.
var waysToRefuse = []error{
	apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New(refusal)),
	apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "x", field.ErrorList{field.Forbidden(nil, refusal)}),
	apierrors.NewInternalError(errors.New("failed calling webhook \"x\": " + refusal)),
}

// refuser is an API server that refuses writes, and what an object has told of it.
type refuser struct {
	*life

	beginnings []string
	way        error
	// refused are the writes that were refused in one reconcile, and streak is how many reconciles in a row had one that
	// is not of the status.
	refused []string
	streak  int
	// isStatusTold means that an event has told that the status of object number toldOf is refused, since it last was not.
	isStatusTold bool
	toldOf       int
	// attempts are the times of the reconciles that had a write refused.
	attempts []time.Time
}

// newRefuser has an API server refuse nothing yet, and look at an object after each reconcile.
func newRefuser(l *life) *refuser {
	r := &refuser{life: l}
	l.refuser, l.afterReconcile = r, r.check
	l.refuse = func(write string) error {
		if !r.refuses(write) {
			return nil
		}
		r.refused = append(r.refused, write)
		return r.way
	}
	return r
}

func (r *refuser) refuses(write string) bool {
	return slices.ContainsFunc(r.beginnings, func(b string) bool { return strings.HasPrefix(write, b+" ") })
}

// set has the writes refused whose bits are set, in one of the ways.
func (r *refuser) set(value int) {
	r.beginnings = nil
	for i, beginning := range refusable {
		if value>>i&1 == 1 {
			r.beginnings = append(r.beginnings, beginning)
		}
	}
	r.way = waysToRefuse[value>>len(refusable)%len(waysToRefuse)]
}

// check requires that the object tells what was refused, and forgets what is not refused any more.
func (r *refuser) check() {
	refused, events := r.refused, strings.Join(r.events, "\n")
	r.refused, r.events = nil, nil
	if len(refused) > 0 {
		r.attempts = append(r.attempts, time.Now())
	}
	isStatusRefused := slices.ContainsFunc(refused, func(w string) bool { return strings.HasPrefix(w, statusWrite) })
	told := strings.Count(events, networkingv1.ReasonWriteRefused+": ")
	if r.toldOf != r.objects { // an object that was created since tells it for itself
		r.toldOf, r.isStatusTold = r.objects, false
	}
	if isStatusRefused {
		if r.isStatusTold && told > 0 || !r.isStatusTold && (told != 1 || !strings.Contains(events, refusal)) {
			r.fail("%v was refused, after an event: %v; the events are %q", refused, r.isStatusTold, events)
		}
		r.isStatusTold = true
		return
	}
	r.isStatusTold = r.isStatusTold && r.refuses(statusWrite+" ")
	if len(refused) == 0 {
		r.streak = 0
		return
	}
	r.streak++
	es := r.stored()
	if es == nil || r.streak == 1 && isTransient(r.way) || r.refuses(statusWrite+" ") {
		return
	}
	c := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReady)
	if c == nil || c.Reason != networkingv1.ReasonWriteRefused || !strings.Contains(c.Message, refusal) ||
		c.ObservedGeneration != es.Generation {
		r.fail("%v was refused at generation %d, and Ready is %+v", refused, es.Generation, c)
	}
}

// checkRest requires, at the end of a minute in which nothing was done, that what failed is not ready, and that nothing is
// told that is not so. A Service that was orphaned stays as it is until the object adopts it, which the object tells.
func (r *refuser) checkRest() {
	c := meta.FindStatusCondition(r.stored().Status.Conditions, networkingv1.ConditionReady)
	var failed, others []string
	for _, ip := range r.ready() {
		if r.down[ip] && r.isChecked(ip) || r.policy[ip] != "" {
			failed = append(failed, ip)
		} else {
			others = append(others, ip)
		}
	}
	// What is in one slice with an address that takes traffic cannot be removed by a deletion.
	canWithdraw := !r.refuses("apply EndpointSlice ") || !r.refuses("delete EndpointSlice ") && len(others) == 0
	switch {
	case r.hasOrphan():
		if len(r.beginnings) == 0 && (c == nil || c.Reason != networkingv1.ReasonServiceConflict) {
			r.fail("the Service is an orphan that was not adopted, and Ready is %+v", c)
		}
	case canWithdraw && len(failed) > 0:
		r.fail("%v is ready, and has failed or is denied", failed)
	}
	if len(r.beginnings) == 0 && (c == nil || c.Reason == networkingv1.ReasonWriteRefused) {
		r.fail("nothing is refused any more, and Ready is %+v", c)
	}
	minuteAgo := time.Now().Add(-time.Minute)
	if n := len(slices.DeleteFunc(slices.Clone(r.attempts), func(at time.Time) bool { return at.Before(minuteAgo) })); n > 12 {
		r.fail("%d reconciles in a minute had writes refused", n)
	}
}

// hasOrphan reports whether the Service is one that an earlier object has orphaned, and that this one has not adopted.
func (r *refuser) hasOrphan() bool {
	service := r.storedService()
	return r.orphaned && service != nil && !rules.BelongsTo(service, r.stored())
}

// isChecked reports whether an address is checked: those of a suspended object, of a drained endpoint, and of no endpoint
// are not.
func (r *refuser) isChecked(ip string) bool {
	spec := r.object().Spec
	return !ptr.Deref(spec.Suspend, false) && slices.ContainsFunc(spec.Endpoints, func(e networkingv1.Endpoint) bool {
		leads := e.DNS != nil && strings.Contains(r.leads[strings.TrimSuffix(e.DNS.Name, ".")], ip)
		return ptr.Deref(e.State, "") != networkingv1.EndpointDrained && (leads || slices.Contains(e.Addresses, networkingv1.IPAddress(ip)))
	})
}

func (r *refuser) fail(format string, args ...any) {
	if r.gap == "" {
		r.gap = time.Since(bubbleEpoch).String() + ": " + fmt.Sprintf(format, args...)
	}
}

// A law has found each of these.
func TestARefusalStaysWhereItIs(t *testing.T) {
	for name, history := range map[string][]step{
		"the object is suspended and resumed": {{"refuse", 130, 0}, {"deny", 1, 0}, {"pause", 0, time.Minute}, {"pause", 0, 3 * time.Second}},
		"the policy denies an address that the spec does not have any more": {
			{"refuse", 0, 0}, {"other", 172, 3 * time.Second}, {"strip", 76, time.Second}, {"refuse", 180, 0}, {"refuse", 19, 5 * time.Minute},
			{"other", 1, 3 * time.Second}, {"same", 1, time.Second}, {"deny", 23, time.Minute}, {"down", 27, 0},
		},
	} {
		if l, conditions := liveFrom(t, time.Millisecond, lawRest+sameForms[0], history, func(l *life) { newRefuser(l) }); l.gap != "" {
			t.Errorf("%s: %s; in the end %s", name, l.gap, conditions)
		}
	}
}

// Laws 5 and 9: whatever subset of the writes is refused, in whatever way, what has failed is taken out of service as far
// as the other writes can do that, the object tells it in the words of the API server, forgets it once it succeeds, and is
// in the end as it would be without.
func TestLawARefusalStaysWhereItIs(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "refuse", "refuse", "lift", "same", "other", "down", "deny", "pause", "strip", "restart")
		l, conditions := liveFrom(t, time.Millisecond, lawRest+sameForms[0], history, func(l *life) { newRefuser(l) })
		allowed := slices.Clone(history)
		for i := range allowed {
			if slices.Contains([]string{"refuse", "lift"}, allowed[i].what) {
				allowed[i].what = "nothing"
			}
		}
		twin, expected := liveFrom(t, time.Millisecond, lawRest+sameForms[0], allowed, func(*life) {})
		// Where everything is down, the priority stays that was published last.
		isSame := conditions == expected || len(twin.readyAt(day)) == 0
		if l.gap != "" || !isSame || !slices.Equal(l.readyAt(day), twin.readyAt(day)) {
			rt.Fatalf("%s; in the end %v %s, and %v %s where nothing is refused", l.gap, l.readyAt(day), conditions, twin.readyAt(day), expected)
		}
	})
}
