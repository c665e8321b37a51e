// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// RebootPolicyDigest names what of a spec is approved: all that decides what is restarted, when, how
// carefully, in whose name, and what is read for it. Left out are the names of triggers and windows, the order of
// lists, what is kept of the past, and suspend and dryRun: setting these has less done, and unsetting
// them is asked about by admission. A value that equals its default counts as absent.
func RebootPolicyDigest(spec *autorebootv1.RebootPolicySpec) string {
	policy := &autorebootv1.RebootPolicy{Spec: *spec.DeepCopy()}
	rebootpolicy.Default(policy)
	full := &policy.Spec
	var p digestParts
	for i := range full.Targets {
		t := full.Targets[i]
		if t.OptIn != nil && *t.OptIn == autorebootv1.OptInAll {
			t.OptIn = nil
		}
		p.add("target", t)
	}
	for i := range full.Triggers {
		t := full.Triggers[i]
		t.Name = ""
		if *t.Urgency == autorebootv1.UrgencyNormal {
			t.Urgency = nil
		}
		if c := t.ConfigChange; c != nil {
			for j := range c.Sources {
				slices.Sort(c.Sources[j].Keys)
			}
			for j := range c.Exclude {
				slices.Sort(c.Exclude[j].Keys)
			}
		}
		p.add("trigger", t)
	}
	for i := range full.Gates {
		full.Gates[i].Name = ""
		p.add("gate", full.Gates[i])
	}
	p.verificationProbes(&full.Verification.Verification)
	p.calendar(&full.Calendar)
	full.Targets, full.Triggers, full.Gates, full.Calendar = nil, nil, nil, common.Calendar{}
	full.Suspend, full.DryRun, full.HistoryLimit = nil, nil, nil
	usual := &autorebootv1.RebootPolicy{}
	rebootpolicy.Default(usual)
	p.settings(full, &usual.Spec)
	return p.digest()
}

// RebootPolicyApproved reports whether an approval is on policy that covers it as it is now. Unasked are
// the namespaces whose writers admission never asks, as the webhook configurations leave them out:
// an approval there is never valid.
func RebootPolicyApproved(policy *autorebootv1.RebootPolicy, unasked ...string) bool {
	return !slices.Contains(unasked, policy.Namespace) &&
		Covers(policy.Annotations[common.ApprovedByAnnotation], RebootPolicyDigest(&policy.Spec))
}

// ClusterRebootPolicyApproved reports whether an approval is on a ClusterRebootPolicy that covers its template as it is now,
// in every namespace.
func ClusterRebootPolicyApproved(policy *autorebootv1.ClusterRebootPolicy) bool {
	return Covers(policy.Annotations[common.ApprovedByAnnotation], ClusterRebootPolicyDigest(policy))
}

// ClusterRebootPolicyDigest names what of a ClusterRebootPolicy is approved: its template. Where it is made does not matter,
// since its writer has the rights in all namespaces.
func ClusterRebootPolicyDigest(policy *autorebootv1.ClusterRebootPolicy) string {
	return RebootPolicyDigest(&policy.Spec.Template.Spec)
}
