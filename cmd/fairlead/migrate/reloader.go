// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

var reloaderReads = []Kind{deploymentReads, statefulSetReads, daemonSetReads,
	{GroupKind: cronJobKind, Version: "v1", Plural: "cronjobs", Optional: true},
	{GroupKind: jobKind, Version: "v1", Plural: "jobs", Optional: true},
	{GroupKind: rolloutKind, Version: "v1alpha1", Plural: "rollouts", Optional: true},
}

const reloaderPauses = "After Reloader is scaled to zero, see that no Deployment with the annotation " + rules.ReloaderPausedAtAnnotation + " has spec.paused: " +
	"Reloader alone resumes it. `kubectl rollout resume` does so too."

const reloaderClasses = "Annotations of a SecretProviderClass are not read: exclude one with " + rules.ReloaderIgnoreAnnotation + " by its name."

const reloaderStrategy = "A restart is an annotation of the pod template, as with --reload-strategy=annotations of Reloader, and never a variable " +
	"of a container: the variables STAKATER_* stay as they are, and mean nothing."

var reloader = &Peer{
	Name: "reloader", Title: "workloads with the annotations of Reloader", Into: "ClusterRebootPolicy", Flags: []string{"pace"},
	Reads:       reloaderReads,
	Follows:     reloaderFollows,
	Differences: append([]string{reloaderStrategy, reloaderClasses}, clusterPolicyDifferences...),
	Steps:       append(slices.Clone(clusterPolicySteps), reloaderPauses),
	translate:   translateReloaderToCluster,
	PerWorkload: reloaderPerWorkload,
}

var reloaderPerWorkload = &Peer{
	Name: "reloader", Into: "RebootPolicy",
	Reads:   reloaderReads,
	Follows: func(in *input) []key { return slices.Concat(reloaderFollows(in), reloaderSources(in)) },
	Differences: append([]string{
		"Each policy is an object of its namespace, named as the workload. One policy with selectors can replace many: target.selector takes labels.",
		"Annotations of ConfigMaps and Secrets, such as " + rules.ReloaderIgnoreAnnotation + ", count as they are in the input, and not later.",
		reloaderStrategy, reloaderClasses,
	}, restartDifferences...),
	Steps:     append(slices.Clone(restartSteps), reloaderPauses),
	translate: translateReloader,
}

// reloaderFollows returns the ConfigMaps that set what Reloader does, and the namespaces among which it selects.
func reloaderFollows(in *input) []key {
	found := configMapsOf(in, "reloader")
	isSelective := slices.ContainsFunc(in.ofProject("reloader"), func(o *object) bool {
		f, _ := (&run{input: in}).parse(newSubject(o))
		return len(f.nsSelectors) > 0
	})
	for _, kind := range slices.Concat(restartedKinds, batchKinds) {
		for _, o := range in.objects[kind] {
			if k := (key{namespaceKind, "", o.namespace}); isSelective && !slices.Contains(found, k) {
				found = append(found, k)
			}
		}
	}
	return found
}

// reloaderAnnotations are those of a workload, or of its pod template.
func reloaderAnnotations(o *object) (found []string) {
	for _, metadata := range []*manifest.Node{o.Get("metadata"), o.templateMetadata()} {
		for k := range annotationsOf(metadata) {
			if strings.Contains(k, "reloader.stakater.com/") && !slices.Contains(found, k) {
				found = append(found, k)
			}
		}
	}
	slices.Sort(found)
	return found
}

// translateReloaderToCluster writes a ClusterRebootPolicy that reads the annotations of Reloader.
func translateReloaderToCluster(r *run) {
	config := r.reloading()
	p := r.newClusterPolicy("reloader", autorebootv1.CompatibilityReloader)
	p.inNamespaces(metav1.LabelSelectorOpIn, config.namespaces)
	p.inNamespaces(metav1.LabelSelectorOpNotIn, config.others)
	for _, of := range config.selector {
		requirement, is := requirementOf(of, false)
		if !is {
			config.from[0].say(Refused, "--namespace-selector %.60q compares numbers: label the namespaces, and select them by that", of.String())
		}
		p.require(requirement)
	}
	if config.all {
		p.object.Spec.Template.Spec.Targets[0].OptIn = nil
	}
	p.trigger.OnCreate, p.trigger.OnDelete, p.trigger.Exclude = config.onCreate, config.onDelete, config.exclude()
	all, _ := r.reloaded(config)
	for _, s := range all {
		if watches, _ := config.watches(r, s.namespace); !watches {
			s.say(Left, "its namespace is one that Reloader does not watch")
			continue
		}
		if p.cover(s) {
			noteReloaded(s)
		}
	}
	p.emit(config.from...)
}

// translateReloader writes a RebootPolicy for each workload.
func translateReloader(r *run) {
	config := r.reloading()
	all, names := r.reloaded(config)
	for _, s := range all {
		switch watches, unknown := config.watches(r, s.namespace); {
		case unknown != "":
			s.say(Refused, "%s", unknown)
			continue
		case !watches:
			s.say(Left, "its namespace is one that Reloader does not watch")
			continue
		}
		p := policy{subject: s}
		p.trigger.OnCreate, p.trigger.OnDelete, p.trigger.Exclude = config.onCreate, config.onDelete, config.exclude()
		if onChange := p.read(r, autorebootv1.CompatibilityReloader, config.all, config.ignored); onChange != nil {
			noteReloaded(s)
			noteWithoutAnnotations(s, onChange)
			p.emit(r, names, config.from...)
		}
	}
}

// reloaded returns the workloads that Reloader may restart, and how many there are of each name. Others are named.
func (r *run) reloaded(config *reloading) (found []*subject, names map[string]int) {
	all, names := r.workloads(config.restarts, batchKinds...)
	for _, o := range all {
		s := r.subject(o)
		if s.GroupKind() == rolloutKind && !config.rollouts {
			s.say(Left, "Reloader restarts no Rollouts without --is-Argo-Rollouts=true")
			continue
		}
		notePaused(s)
		found = append(found, s)
	}
	for _, kind := range batchKinds {
		n := 0
		for _, o := range r.objects[kind] {
			if config.all && !config.idle[kind.Kind] && !isOwned(o) && len(reloaderAnnotations(o)) == 0 {
				n++
			}
		}
		if n > 0 {
			config.from[0].say(Lost, "--auto-reload-all starts CronJobs and Jobs again also without an annotation, which no policy does: %s here",
				plural(n, kind.Kind))
		}
	}
	return found, names
}

// noteReloaded notes what is not as Reloader does it.
func noteReloaded(s *subject) {
	if slices.Contains(batchKinds, s.GroupKind()) {
		s.say(Differs, "the operator restarts it once its configuration has kind %s of group %s, version v1, in rebootPolicies.workloads",
			s.GroupVersionKind.Kind, s.Group)
	}
	read := rules.ReloaderAnnotations()
	for _, name := range reloaderAnnotations(s.object) {
		if text := notCarriedOver(name); text != "" && !slices.Contains(read, name) {
			s.annotation(name).say(Lost, "%s", text)
		}
	}
}

// noteWithoutAnnotations notes what a policy does otherwise which does not read the annotations of Reloader.
func noteWithoutAnnotations(s *subject, onChange *rules.OnChange) {
	const strategy, restarts = rules.ReloaderRolloutAnnotation, rules.ReloaderRestartsRollout
	if s.GroupKind() == rolloutKind && s.root().in("metadata", "annotations", strategy).text() != restarts {
		s.say(Differs, "it is restarted by spec.restartAt, as with %s: %s, and not rolled out by the steps of its strategy", strategy, restarts)
	}
	if onChange.Pause > 0 {
		s.say(Differs, "%s is a debounce: the Deployment is not paused, and changes until the end of that time are rolled out together then",
			rules.ReloaderPauseAnnotation)
	}
}

// notCarriedOver is why an annotation that is not read means nothing here; "" where it means nothing to Reloader, or was noted.
func notCarriedOver(annotation string) string {
	switch annotation {
	case rules.ReloaderRolloutAnnotation, rules.ReloaderPausedAtAnnotation, rules.ReloaderLastReloadedFromAnnotation:
		return ""
	case rules.ReloaderIgnoreAnnotation, rules.ReloaderMatchAnnotation:
		return "means something on a ConfigMap or Secret alone, also to Reloader"
	}
	return "is not an annotation of Reloader"
}

// notePaused notes a Deployment that Reloader has paused, and that only its timer would resume.
func notePaused(s *subject) {
	paused := s.root().in("spec", "paused")
	if s.GroupKind() != deploymentKind || !s.annotation(rules.ReloaderPausedAtAnnotation).exists() || paused.is("false") {
		return
	}
	command := "kubectl rollout resume deployment/" + s.name
	if s.namespace != "" {
		command += " -n " + s.namespace
	}
	paused.say(Differs, "Reloader has paused it, and resumes it only while Reloader runs; until then a restart waits with the reason Paused. "+
		"If it is still paused when Reloader has ended: `%s`", command)
}
