// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions sets the conditions of a status. One that does not change keeps its transition time, so that a status
// is not written for a time alone.
package conditions

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// MaxMessage limits a message, in bytes, so that `kubectl describe` stays readable.
const MaxMessage = 1024

// Update is the conditions of a status in one reconcile.
type Update struct {
	Conditions *[]metav1.Condition
	Generation int64
	Now        metav1.Time
	current    []string // the types that are set or kept
}

// Set sets a condition.
func (u *Update) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(u.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: text.Truncate(message, MaxMessage),
		ObservedGeneration: u.Generation, LastTransitionTime: u.Now,
	})
	u.current = append(u.current, kind)
}

// SetSince sets a condition with the time of what it is about, such as the end of a run: each is a transition of its own, also to the
// same status.
func (u *Update) SetSince(since metav1.Time, kind string, status metav1.ConditionStatus, reason, message string) {
	u.Set(kind, status, reason, message)
	if !since.IsZero() {
		meta.FindStatusCondition(*u.Conditions, kind).LastTransitionTime = since
	}
}

// SetSuspended sets the condition Suspended. effect is what spec.suspend causes.
func (u *Update) SetSuspended(isSuspended bool, effect string) {
	if isSuspended {
		u.Set(common.ConditionSuspended, metav1.ConditionTrue, common.ReasonSuspendedBySpec, effect)
		return
	}
	u.Set(common.ConditionSuspended, metav1.ConditionFalse, common.ReasonNotSuspended, "spec.suspend is false")
}

// SetNotWaiting sets that nothing waits.
func (u *Update) SetNotWaiting() {
	u.Set(common.ConditionWaiting, metav1.ConditionFalse, common.ReasonNothingPending, "nothing waits")
}

// SetDeleting sets that an object is being deleted, and the effect of that.
func (u *Update) SetDeleting(object metav1.Object, effect string) {
	u.Set(common.ConditionReady, metav1.ConditionFalse, common.ReasonDeleting, "the object is being deleted: "+effect+KeptBy(object))
}

// KeptBy returns what keeps an object that is being deleted, as the end of a sentence; "" for nothing.
func KeptBy(object metav1.Object) string {
	if len(object.GetFinalizers()) == 0 {
		return ""
	}
	return ". It is kept by the finalizers " + strings.Join(object.GetFinalizers(), ", ")
}

// Keep makes a condition one of this generation, and reports whether there is one.
func (u *Update) Keep(kind string) bool {
	c := meta.FindStatusCondition(*u.Conditions, kind)
	if c != nil {
		c.ObservedGeneration = u.Generation
		u.current = append(u.current, kind)
	}
	return c != nil
}

// Remove removes a condition. Never remove and set one: it would have a new time at each reconcile.
func (u *Update) Remove(kind string) { meta.RemoveStatusCondition(u.Conditions, kind) }

// RemoveOthers removes those of these types that are neither set nor kept in this reconcile: each is absent while it does
// not hold. One that was removed and then set would have a new transition time.
func (u *Update) RemoveOthers(transient ...string) {
	*u.Conditions = slices.DeleteFunc(*u.Conditions, func(c metav1.Condition) bool {
		return slices.Contains(transient, c.Type) && !slices.Contains(u.current, c.Type)
	})
}
