// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

type hubForm struct {
	Spec   autorebootv1.RebootPolicySpec   `json:"spec"`
	Status autorebootv1.RebootPolicyStatus `json:"status"`
}

type spokeForm struct {
	Spec   v1alpha1.RebootPolicySpec   `json:"spec"`
	Status v1alpha1.RebootPolicyStatus `json:"status"`
}

// New returns the converter of the kind.
func New() *hubspoke.Converter {
	return hubspoke.New(hubspoke.Pair[hubForm, spokeForm]{
		Group: autorebootv1.GroupVersion.Group, Kind: "RebootPolicy",
		Hub: autorebootv1.GroupVersion.Version, Spoke: v1alpha1.GroupVersion.Version,
		Up: up, Down: down, CompleteHub: completeHub, HasImplied: hasImplied,
		OverlayHub: overlayHub,
	})
}

// implied is what every v1alpha1 object means and cannot express: the defaults of v1 that apply in any case. The
// cooldown is among them, although v1 demands that the author of a Probe trigger choose one: v1alpha1 has no field to
// choose it with.
var implied = func() autorebootv1.RebootPolicySpec {
	var h hubForm
	completeHub(&h)
	return h.Spec
}()

// completeHub fills in the defaults of v1, except within list items: a value there was written by a user.
func completeHub(h *hubForm) {
	obj := autorebootv1.RebootPolicy{Spec: h.Spec}
	rebootpolicy.DefaultMaps(&obj)
	h.Spec = obj.Spec
}

// hasImplied reports whether a hub form has all of implied.
func hasImplied(h *hubForm) bool {
	s := &h.Spec
	return s.Suspend != nil && s.DryRun != nil && s.Cooldown != nil && s.HistoryLimit != nil && s.Limit != nil &&
		s.Strategy != nil && s.Debounce != nil && s.Debounce.QuietPeriod != nil && s.Debounce.MaxDelay != nil &&
		s.Retry != nil && s.Retry.MaxAttempts != nil && s.Retry.Backoff != nil && s.Retry.MaxBackoff != nil && s.Retry.ResetAfter != nil &&
		s.Concurrency != nil && s.Concurrency.MaxTargets != nil && s.Verification != nil && s.Verification.Timeout != nil &&
		s.Verification.Soak != nil && s.Verification.MaxContainerRestarts != nil && s.Verification.OnFailure != nil
}

func up(s spokeForm) hubForm {
	h := hubForm{Spec: *implied.DeepCopy()}
	if target := s.Spec.Target; target != (v1alpha1.Target{}) {
		h.Spec.Targets = []autorebootv1.Target{{Group: groupOf(target.Kind), Kind: common.WorkloadKind(target.Kind).Name(), Name: target.Name}}
	}
	for i := range s.Spec.Policies {
		h.Spec.Triggers = append(h.Spec.Triggers, triggerOf(&s.Spec.Policies[i]))
	}
	h.Status.ObservedGeneration = s.Status.ObservedGeneration
	h.Status.LastRestartTime = s.Status.LastReboot
	h.Status.Conditions = s.Status.Conditions
	return h
}

func down(h hubForm) spokeForm {
	var s spokeForm
	if len(h.Spec.Targets) > 0 {
		first := &h.Spec.Targets[0]
		s.Spec.Target = v1alpha1.Target{Kind: string(common.KindOfGroup(first.Group, first.Kind)), Name: first.Name}
	}
	for i := range h.Spec.Triggers {
		if h.Spec.Triggers[i].Type == autorebootv1.TriggerProbe {
			s.Spec.Policies = append(s.Spec.Policies, policyOf(&h.Spec.Triggers[i]))
		}
	}
	s.Status.ObservedGeneration = h.Status.ObservedGeneration
	s.Status.LastReboot = h.Status.LastRestartTime
	s.Status.Conditions = h.Status.Conditions
	return s
}

// groupOf returns the API group of a kind of workload, absent where it is the default of v1.
func groupOf(kind string) string {
	if group := common.WorkloadKind(kind).Group(); group != common.AppsGroup {
		return group
	}
	return ""
}

func triggerOf(p *v1alpha1.Policy) autorebootv1.Trigger {
	return autorebootv1.Trigger{
		Name:        p.Name,
		Description: p.Comment,
		Type:        autorebootv1.TriggerProbe,
		Probe:       probeUp(p.Trigger.Probe),
	}
}

func policyOf(t *autorebootv1.Trigger) v1alpha1.Policy {
	return v1alpha1.Policy{
		Name:    t.Name,
		Comment: t.Description,
		Trigger: v1alpha1.Trigger{Probe: probeDown(t.Probe)},
	}
}
