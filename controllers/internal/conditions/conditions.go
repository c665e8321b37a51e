// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions sets the conditions of a status. A condition that does not change keeps its transition time, so
// that no status is written only for a time.
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

// Update sets the conditions of one status in one reconcile.
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

// SetSince sets a condition whose transition time is that of an event, such as the end of a run. Each event is a
// transition, even if the status stays the same.
func (u *Update) SetSince(since metav1.Time, kind string, status metav1.ConditionStatus, reason, message string) {
	u.Set(kind, status, reason, message)
	if !since.IsZero() {
		meta.FindStatusCondition(*u.Conditions, kind).LastTransitionTime = since
	}
}

// SetSuspended sets the condition Suspended. effect describes what spec.suspend causes.
func (u *Update) SetSuspended(isSuspended bool, effect string) {
	if isSuspended {
		u.Set(common.ConditionSuspended, metav1.ConditionTrue, common.ReasonSuspendedBySpec, effect)
		return
	}
	u.Set(common.ConditionSuspended, metav1.ConditionFalse, common.ReasonNotSuspended, "spec.suspend is false")
}

// SetNotWaiting sets the condition Waiting to False, since nothing waits.
func (u *Update) SetNotWaiting() {
	u.Set(common.ConditionWaiting, metav1.ConditionFalse, common.ReasonNothingPending, "nothing waits")
}

// SetDeleting sets the condition Ready of an object that is being deleted. effect describes what that causes.
func (u *Update) SetDeleting(object metav1.Object, effect string) {
	u.Set(common.ConditionReady, metav1.ConditionFalse, common.ReasonDeleting, "the object is being deleted: "+effect+KeptBy(object))
}

// KeptBy returns which finalizers keep an object that is being deleted, as the end of a sentence; "" if there are none.
func KeptBy(object metav1.Object) string {
	if len(object.GetFinalizers()) == 0 {
		return ""
	}
	return ". It is kept by the finalizers " + strings.Join(object.GetFinalizers(), ", ")
}

// Keep keeps a condition, with the current generation. It reports whether the condition exists.
func (u *Update) Keep(kind string) bool {
	c := meta.FindStatusCondition(*u.Conditions, kind)
	if c != nil {
		c.ObservedGeneration = u.Generation
		u.current = append(u.current, kind)
	}
	return c != nil
}

// Remove removes a condition. Do not remove a condition and set it in the same reconcile: it would get a new transition
// time.
func (u *Update) Remove(kind string) { meta.RemoveStatusCondition(u.Conditions, kind) }

// RemoveOthers removes each of these conditions that is neither set nor kept in this reconcile, since it is absent
// while it does not hold. Call it after the others: a condition that is removed and set again would get a new
// transition time.
func (u *Update) RemoveOthers(transient ...string) {
	*u.Conditions = slices.DeleteFunc(*u.Conditions, func(c metav1.Condition) bool {
		return slices.Contains(transient, c.Type) && !slices.Contains(u.current, c.Type)
	})
}
