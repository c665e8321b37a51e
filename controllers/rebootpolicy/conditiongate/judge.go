// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conditiongate

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// clockSlack is how far a lastTransitionTime may be in the future, since the clocks of two controllers differ.
const clockSlack = time.Minute

// Closed returns why an object closes a gate; empty if the gate is open. A fact that is not known closes it.
func Closed(object *unstructured.Unstructured, of *autorebootv1.ObjectCondition, now time.Time) string {
	name := of.Kind + " " + of.Name
	if object.GetDeletionTimestamp() != nil {
		return name + " is being deleted"
	}
	if of.Type == "" {
		return notCurrent(object, name)
	}
	c, found := find(object, of.Type)
	switch why := name + ": condition " + of.Type + " is "; {
	case !found:
		return name + " has no condition " + of.Type
	case c.isOutdated(object.GetGeneration()):
		return fmt.Sprintf("%sof generation %d, and the spec of generation %d", why, c.generation, object.GetGeneration())
	case c.status != of.Status:
		return why + string(c.status) + inParentheses(c.reason)
	case of.MaxAge != nil:
		if old := c.tooOld(*of.MaxAge, now); old != "" {
			return why + string(c.status) + " " + old
		}
	}
	return ""
}

// notCurrent returns why an object is not current by the rules of kstatus. If kstatus has no rule for a kind, it
// assumes that an object without the condition Ready is current. Here, such an object counts as not known.
func notCurrent(object *unstructured.Unstructured, name string) string {
	result, err := status.Compute(object)
	switch {
	case err != nil:
		return name + " has a status that kstatus cannot read: set the type of a condition"
	case result.Status != status.CurrentStatus:
		reason := ""
		if len(result.Conditions) > 0 {
			reason = result.Conditions[0].Reason
		}
		return name + " is not current: " + string(result.Status) + inParentheses(reason)
	case status.GetLegacyConditionsFn(object) != nil:
		return ""
	}
	if c, found := find(object, common.ConditionReady); !found || c.status != metav1.ConditionTrue {
		return name + " has no condition Ready, which would say whether it is current: set the type of a condition"
	} else if c.isOutdated(object.GetGeneration()) {
		return fmt.Sprintf("%s: condition Ready is of generation %d, and the spec of generation %d", name, c.generation, object.GetGeneration())
	}
	return ""
}

func inParentheses(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// condition is a condition of an object.
type condition struct {
	status     metav1.ConditionStatus
	reason     string
	since      time.Time // the lastTransitionTime; zero if it is absent
	generation int64     // the observedGeneration; 0 if it is absent
}

// isOutdated reports whether a condition is about an earlier generation of its object.
func (c *condition) isOutdated(generation int64) bool {
	return c.generation > 0 && c.generation < generation
}

// tooOld returns why a condition is older than maxAge, as the end of a sentence; empty if it is not.
func (c *condition) tooOld(maxAge common.Duration, now time.Time) string {
	most, err := maxAge.Parse()
	switch {
	case err != nil:
		return "of an unknown age: maxAge cannot be read"
	case c.since.IsZero():
		return "of an unknown age: it has no lastTransitionTime"
	case c.since.After(now.Add(clockSlack)):
		return "since " + c.since.UTC().Format(time.RFC3339) + ", which is in the future"
	case now.Sub(c.since) > most:
		return fmt.Sprintf("since %s, more than %s ago", c.since.UTC().Format(time.RFC3339), common.DurationOf(most))
	}
	return ""
}

// find returns a condition of an object. A condition with an unknown status counts as missing.
func find(object *unstructured.Unstructured, kind string) (*condition, bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	all, _ := value.([]any)
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	for _, one := range all {
		fields, _ := one.(map[string]any)
		if of, _ := fields["type"].(string); of != kind {
			continue
		}
		c := &condition{generation: observed}
		text, _ := fields["status"].(string)
		c.status = metav1.ConditionStatus(text)
		c.reason, _ = fields["reason"].(string)
		if own, has := fields["observedGeneration"].(int64); has {
			c.generation = own
		}
		since, _ := fields["lastTransitionTime"].(string)
		c.since, _ = time.Parse(time.RFC3339, since)
		return c, text != ""
	}
	return nil, false
}
