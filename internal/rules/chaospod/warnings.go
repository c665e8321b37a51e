// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Warnings returns what is valid and probably a mistake. For an update, it warns only of what the update adds: users do
// not read warnings that repeat at every write.
func Warnings(obj, old *chaosv1.ChaosPod) []string {
	texts := rules.NewWarnings(obj, old, warnings)
	if old == nil || old.Status.ObservedGeneration <= 0 {
		texts = append(texts, rules.EarlyRequest(obj, chaosv1.RunNowAnnotation)...)
	}
	return texts
}

func warnings(obj *chaosv1.ChaosPod) []string {
	spec := &obj.Spec
	var texts []string
	if count := spec.Count; count != nil && (*count == intstr.FromInt32(0) || *count == intstr.FromString("0%")) {
		texts = append(texts, fmt.Sprintf("spec.count: %s never kills anything; use spec.suspend to pause", count.String()))
	}
	if count, workload := spec.Count, spec.Target.Workload; count != nil && count.IntVal > 1 && workload != nil {
		texts = append(texts, fmt.Sprintf("spec.count: a run kills one pod of %s %s at most, not %s", workload.Kind, workload.Name, count.String()))
	}
	if safety := spec.Safety; safety != nil && safety.MinReady != nil && *safety.MinReady == intstr.FromString("100%") &&
		spec.Target.Template == nil {
		texts = append(texts, "spec.safety.minReady: 100% never allows a kill; use spec.suspend to pause")
	}
	texts = append(texts, rules.SelectsAll(specPath.Child("target", "selector"), spec.Target.Selector,
		"any pod of the namespace that belongs to a controller may be killed")...)
	if spec.Filter != nil {
		texts = append(texts, rules.SelectsAll(specPath.Child("filter", "exclude"), spec.Filter.Exclude,
			"no pod is ever killed; use spec.suspend to pause")...)
	}
	texts = append(texts, rules.VerificationWarnings(specPath.Child("verification"), spec.Verification, "no run kills")...)
	texts = append(texts, rules.NeverOpen(&spec.Calendar, "no run ever begins")...)
	deadline := ptr.Deref(spec.Schedule.StartingDeadline, DefaultStartingDeadline)
	texts = append(texts, rules.NeverInTime("spec.schedule.cron", spec.Schedule.Cron, spec.Schedule.TimeZone, deadline, &spec.Calendar)...)
	return append(texts, rules.CronSurprises(map[string]common.Cron{"spec.schedule.cron": spec.Schedule.Cron}, &spec.Calendar)...)
}

// Evicts reports whether a ChaosPod evicts pods.
func Evicts(spec *chaosv1.ChaosPodSpec) bool {
	return spec.Action == nil || ptr.Deref(spec.Action.Type, chaosv1.ActionEvict) == chaosv1.ActionEvict
}

// Overlaps warns of every other ChaosPod for the workload that obj names. Each is safe by itself. Together they kill
// more often than either spec says.
func Overlaps(obj *chaosv1.ChaosPod, others []chaosv1.ChaosPod) []string {
	workload := obj.Spec.Target.Workload
	if workload == nil {
		return nil
	}
	var texts []string
	for i := range others {
		other := &others[i]
		if other.Namespace != obj.Namespace || other.Name == obj.Name {
			continue
		}
		if theirs := other.Spec.Target.Workload; theirs != nil && theirs.Kind == workload.Kind && theirs.Name == workload.Name {
			texts = append(texts, fmt.Sprintf("spec.target.workload: ChaosPod %s acts on %s %s already; each counts its own limits, so together they kill more often than either says",
				other.Name, workload.Kind, workload.Name))
		}
	}
	return texts
}
