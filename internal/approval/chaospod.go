// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// ChaosPodDigest names what of a spec is approved: all that decides which pods die, when, how, how
// carefully and in whose name, what pod is made from a template, and which requests are sent meanwhile. Left out are the
// names and the order of windows and probes, historyLimit, and suspend and dryRun: setting these has less done, and unsetting
// them is asked about by admission.
// A value that equals its default counts as absent.
func ChaosPodDigest(spec *chaosv1.ChaosPodSpec) string {
	full := withDefaults(spec)
	var p digestParts
	p.add("target", full.Target)
	p.calendar(&full.Calendar)
	p.verificationProbes(full.Verification)
	usual := withDefaults(&chaosv1.ChaosPodSpec{Target: full.Target})
	for _, s := range []*chaosv1.ChaosPodSpec{full, usual} {
		s.Target, s.Calendar, s.Suspend, s.DryRun, s.HistoryLimit = chaosv1.Target{}, common.Calendar{}, nil, nil, nil
	}
	p.settings(full, usual)
	return p.digest()
}

func withDefaults(spec *chaosv1.ChaosPodSpec) *chaosv1.ChaosPodSpec {
	pod := &chaosv1.ChaosPod{Spec: *spec.DeepCopy()}
	chaospod.Default(pod)
	return &pod.Spec
}

// ChaosPodApproved reports whether an approval is on pod that covers it as it is now. Unasked are the
// namespaces that the webhooks are not called for: an approval there is never valid.
func ChaosPodApproved(pod *chaosv1.ChaosPod, unasked ...string) bool {
	return !slices.Contains(unasked, pod.Namespace) &&
		Covers(pod.Annotations[common.ApprovedByAnnotation], ChaosPodDigest(&pod.Spec))
}
