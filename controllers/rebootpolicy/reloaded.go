// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// reloadSource is the annotation in which Reloader records the source of a restart (pkg/common/reload_source.go).
type reloadSource struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Hash is the keyed fingerprint of the status. Reloader has a SHA-1 of the content, from which a short value can be found.
	Hash          string   `json:"hash"`
	ContainerRefs []string `json:"containerRefs"`
	ObservedAt    int64    `json:"observedAt"`
}

// restartAnnotations returns what a restart writes into a pod template. All of it follows from the stored status and from the
// workload, so that a repetition writes the same.
func restartAnnotations(p *autorebootv1.RebootPolicy, action *restart.Action) map[string]string {
	annotations := map[string]string{
		autorebootv1.RestartIDAnnotation: action.ID,
		workloads.RestartedAtAnnotation:  action.Started.UTC().Format(time.RFC3339),
	}
	if p.Spec.Compatibility == autorebootv1.CompatibilityReloader {
		if from := lastReloadedFrom(p, action); from != "" {
			annotations[rules.ReloaderLastReloadedFromAnnotation] = from
		}
	}
	return annotations
}

// lastReloadedFrom returns the annotation of Reloader for a restart; empty where it is for no source. Of several sources it names
// the one that was written last.
func lastReloadedFrom(p *autorebootv1.RebootPolicy, action *restart.Action) string {
	from := causeOf(p, action)
	kind, name, found := strings.Cut(from.Source, "/")
	if !found {
		return ""
	}
	text, err := json.Marshal(reloadSource{
		Type: strings.ToUpper(kind), Name: name, Namespace: p.Namespace, Hash: from.Fingerprint,
		ContainerRefs: containersWith(action.Workload.Template, autorebootv1.SourceKind(kind), name), ObservedAt: action.Started.Unix(),
	})
	if err != nil {
		return ""
	}
	return string(text)
}

// causeOf returns the baseline of the source that a restart is for, as the stored status has it.
func causeOf(p *autorebootv1.RebootPolicy, action *restart.Action) (from autorebootv1.Baseline) {
	var triggers []string
	for i := range p.Status.InFlight {
		if f := &p.Status.InFlight[i]; f.ID == action.ID {
			triggers = f.Triggers
		}
	}
	for i := range p.Status.Targets {
		t := &p.Status.Targets[i]
		if t.UID != action.Workload.UID {
			continue
		}
		for _, b := range t.Baselines {
			if !slices.Contains(triggers, b.Trigger) || !strings.Contains(b.Source, "/") {
				continue
			}
			if from.Source == "" || b.WrittenTime != nil && (from.WrittenTime == nil || from.WrittenTime.Before(b.WrittenTime)) {
				from = b
			}
		}
	}
	return from
}

// containersWith returns the names of the containers that use a source, or of the first where none does.
func containersWith(template *corev1.PodTemplateSpec, kind autorebootv1.SourceKind, name string) []string {
	if template == nil {
		return nil
	}
	var with []string
	all := slices.Concat(template.Spec.InitContainers, template.Spec.Containers)
	for i := range all {
		alone := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: all[i : i+1]}}
		mounted := map[string]bool{}
		for _, mount := range all[i].VolumeMounts {
			mounted[mount.Name] = true
		}
		for j := range template.Spec.Volumes {
			if v := &template.Spec.Volumes[j]; mounted[v.Name] {
				alone.Spec.Volumes = append(alone.Spec.Volumes, *v)
			}
		}
		if slices.ContainsFunc(references.Of(alone), func(r references.Reference) bool { return r.Kind == kind && r.Name == name }) {
			with = append(with, all[i].Name)
		}
	}
	if len(with) == 0 && len(template.Spec.Containers) > 0 {
		with = append(with, template.Spec.Containers[0].Name)
	}
	return with
}

// rollsOut reports whether a Rollout is restarted by a new revision, by the steps of its strategy, as Reloader does it unless an
// annotation asks for a restart. The template of one with a workloadRef is that of another object.
func rollsOut(p *autorebootv1.RebootPolicy, w *restart.Workload) bool {
	return w.Kind == common.WorkloadRollout && p.Spec.Compatibility == autorebootv1.CompatibilityReloader && w.TemplateOwner == "" &&
		w.TemplateMistake == "" && w.Annotations[rules.ReloaderRolloutAnnotation] != rules.ReloaderRestartsRollout
}

// nested returns annotations as unstructured content has them.
func nested(annotations map[string]string) map[string]any {
	all := make(map[string]any, len(annotations))
	for name, value := range annotations {
		all[name] = value
	}
	return all
}
