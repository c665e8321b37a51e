// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"strings"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// The verbs that request something once, by an annotation.
const (
	VerbRestart  = "restart"
	VerbRetry    = "retry"
	VerbApprove  = "approve"
	VerbRun      = "run"
	VerbFailback = "failback"
	VerbFault    = "fault"
)

// annotations are those by which a verb requests something of an object of a kind.
var annotations = map[string]map[string]string{
	VerbRestart:  {RebootPolicy: autorebootv1.RestartNowAnnotation},
	VerbRetry:    {RebootPolicy: autorebootv1.RetryAnnotation, ChaosPod: chaosv1.RetryAnnotation},
	VerbApprove:  {RebootPolicy: autorebootv1.ApproveAnnotation},
	VerbRun:      {ChaosPod: chaosv1.RunNowAnnotation},
	VerbFailback: {ExternalService: networkingv1.FailbackNowAnnotation},
	VerbFault:    {ExternalService: networkingv1.InjectFaultAnnotation},
}

// Annotation returns the annotation by which a verb requests something of a kind; empty where it cannot.
func Annotation(verb, kind string) string { return annotations[verb][kind] }

// Entries of a status that have reasons, as common.Reason names them.
const (
	ofAddress = "Address"
	ofHistory = "History"
	ofTarget  = "Target"
	ofTrigger = "Trigger"
	ofEvent   = "Event"
)

// rows are the reasons of each kind.
var rows = map[string][]common.Reason{
	ExternalService: networkingv1.Reasons, RebootPolicy: autorebootv1.Reasons, ChaosPod: chaosv1.Reasons,
	ClusterRebootPolicy: autorebootv1.ClusterReasons,
}

// Reasons returns what the reasons of a kind mean, in the order in which they are listed.
func Reasons(kind string) []common.Reason { return rows[kind] }

// Remedy returns what you can do about a reason of a condition; empty where you need not act.
func Remedy(kind, condition, reason string) string {
	r, _ := reasonOf(kind, condition, reason)
	return r.Remedy
}

// reasonOf returns the row of a reason of a condition or an entry of the status. Where that has none, it is the first row of the
// kind that is not of an Event alone: an entry of the history can have a reason of a condition.
func reasonOf(kind, of, reason string) (found common.Reason, known bool) {
	for _, r := range rows[kind] {
		on := places(r)
		switch {
		case r.Name != reason:
		case slices.Contains(on, of):
			return r, true
		case !known && slices.ContainsFunc(on, func(place string) bool { return place != ofEvent }):
			found, known = r, true
		}
	}
	return found, known
}

// places are the conditions and entries that have a reason, without statuses.
func places(r common.Reason) (all []string) {
	for place := range strings.FieldsSeq(r.On) {
		place, _, _ = strings.Cut(place, "=")
		all = append(all, place)
	}
	return all
}
