// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. All but Stalled are present from the first reconcile on.
const (
	// ConditionReady is true while runs are scheduled and can take place.
	ConditionReady = common.ConditionReady
	// ConditionWaiting is true while a run is due, or has chosen its victims, and something forbids it. It never makes Ready
	// false: waiting for a window is no failure.
	ConditionWaiting = common.ConditionWaiting
	// ConditionProgressing is true while a run is under way, its verification included. Its reason is the state of the ChaosPod
	// in one word.
	ConditionProgressing = common.ConditionProgressing
	// ConditionSurvived is the verdict on the last run; it is unknown until there is one. Its transition is the end of that run, whatever
	// the verdict before it was.
	ConditionSurvived = "Survived"
	// ConditionStalled is true when no run will take place until a user acts, and absent
	// otherwise.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
)

// The annotations that a user sets on a ChaosPod.
const (
	// ResumeAnnotation ends a halt. Its value is a common.Token.
	ResumeAnnotation = "chaos.fairlead.dev/resume"
	// RunNowAnnotation requests one run. Its value is a common.Token. The run waits for all that a scheduled one waits for,
	// except the schedule: windows, blackouts, safety.
	RunNowAnnotation = "chaos.fairlead.dev/run-now"
)

// TemplateHashLabel is on the canary of target.template, with the hash of the template that it was made
// from.
const TemplateHashLabel = "chaos.fairlead.dev/template-hash"
