// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. All but Stalled are present from the first reconcile on.
const (
	// ConditionReady is true while scheduled runs can take place.
	ConditionReady = common.ConditionReady
	// ConditionWaiting is true while a run is due and cannot begin, or has begun and cannot kill. Its reason is the
	// obstacle. It never makes Ready false: waiting for a window is no failure.
	ConditionWaiting = common.ConditionWaiting
	// ConditionProgressing is true while a run is under way, its verification included. Its reason is the state of the ChaosPod
	// in one word.
	ConditionProgressing = common.ConditionProgressing
	// ConditionSurvived is the verdict on the last verified run; it is unknown before the first. Its lastTransitionTime
	// is the end of that run, even if the status is the same as after the run before.
	ConditionSurvived = "Survived"
	// ConditionStalled is true when no run will take place until a user acts, and absent
	// otherwise.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
)

// The annotations that a user sets on a ChaosPod.
const (
	// RetryAnnotation ends a halt. Its value is a common.Token.
	RetryAnnotation = "chaos.fairlead.dev/retry"
	// RunNowAnnotation requests one run. Its value is a common.Token. The run ignores the schedule; windows, blackouts
	// and safety still apply.
	RunNowAnnotation = "chaos.fairlead.dev/run-now"
)

// TemplateHashLabel is on the canary of target.template. Its value is the hash of the template that the canary was made
// from.
const TemplateHashLabel = "chaos.fairlead.dev/template-hash"
