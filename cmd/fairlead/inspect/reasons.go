// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Meaning explains a reason.
type Meaning struct {
	// Text is what the reason means, and what happens next by itself.
	Text string
	// Remedy is what a person can do, or that nothing is to be done.
	Remedy string
	// Verb is the request that overrides what holds, or goes on after it; empty where none does.
	Verb string
	// Unrequested is what of Remedy helps where the object does not act on the request; it may be empty.
	Unrequested string
}

// The verbs that request something once, by an annotation.
const (
	VerbRestart  = "restart"
	VerbResume   = "resume"
	VerbApprove  = "approve"
	VerbRun      = "run"
	VerbFailback = "failback"
	VerbFault    = "fault"
)

// annotations are those by which a verb requests something of an object of a kind.
var annotations = map[string]map[string]string{
	VerbRestart:  {RebootPolicy: autorebootv1.RestartNowAnnotation},
	VerbResume:   {RebootPolicy: autorebootv1.ResumeAnnotation, ChaosPod: chaosv1.ResumeAnnotation},
	VerbApprove:  {RebootPolicy: autorebootv1.ApproveAnnotation},
	VerbRun:      {ChaosPod: chaosv1.RunNowAnnotation},
	VerbFailback: {ExternalService: networkingv1.FailbackNowAnnotation},
	VerbFault:    {ExternalService: networkingv1.InjectFaultAnnotation},
}

// Annotation returns the annotation by which a verb requests something of a kind; empty where it cannot.
func Annotation(verb, kind string) string { return annotations[verb][kind] }

// What the reasons of an object that are of no condition are about.
const (
	aboutAddress = "Address"
	aboutHistory = "History"
)

const nothing = "Nothing is to be done."

// meanings of the reasons of a kind, by the reason, or by the type of the condition, a slash and the reason where a reason
// has another meaning there.
var meanings = map[string]map[string]Meaning{
	ExternalService: externalServiceMeanings,
	RebootPolicy:    rebootPolicyMeanings,
	ChaosPod:        chaosPodMeanings,

	ClusterRebootPolicy: clusterRebootPolicyMeanings,
}

// sharedMeanings are of reasons that mean the same in each kind.
var sharedMeanings = map[string]Meaning{
	common.ReasonNothingPending:  {Text: "Nothing waits.", Remedy: nothing},
	common.ReasonSuspendedBySpec: {Text: "spec.suspend is true: nothing begins until it is false.", Remedy: "Set spec.suspend to false."},
	common.ReasonNotSuspended:    {Text: "spec.suspend is not set.", Remedy: nothing},
	common.ReasonInvalidSpec: {Text: "The stored spec breaks a rule, as it can where it was written before the rule or without admission.",
		Remedy: "Correct the field that the message names; `fairlead vet --cluster` names each."},
	common.ReasonForbidden: {Text: "A right is missing, of the operator, of the ServiceAccount that the spec names, or of who wrote the object. It is tried again.",
		Remedy: "Grant the right that the message names, or have a user who has it write the object again."},
	common.ReasonWriteRefused: {Text: "The API server refuses a write, and the message has its words. It is tried again by itself.",
		Remedy: "Change the quota, the policy or the webhook that the message names."},
	common.ReasonProbesInconclusive: {Text: "So many checks fail at once that the fault is probably the operator's own, so that they decide nothing now. It ends by itself.",
		Remedy: "See whether the nodes of the operator reach the network, the API server and DNS."},
}

// Remedy returns what a person can do about a reason; empty where nothing is to be done.
func Remedy(kind, reason string) string {
	m, _ := meaningOf(kind, "", reason)
	if m.Remedy == nothing {
		return ""
	}
	return m.Remedy
}

// meaningOf returns what a reason means in a kind; about is the type of the condition, or what else it is of.
func meaningOf(kind, about, reason string) (Meaning, bool) {
	for _, from := range []map[string]Meaning{meanings[kind], sharedMeanings} {
		for _, key := range []string{about + "/" + reason, reason} {
			if m, has := from[key]; has {
				return m, true
			}
		}
	}
	return Meaning{}, false
}
