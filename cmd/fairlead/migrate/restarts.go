// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

var restartDifferences = []string{
	"A restart is verified. One that fails is tried again, and halts the policy if it goes on failing.",
	"A change while the operator is down is found later. What is there when a policy is made is its baseline: nothing restarts.",
}

var restartSteps = []string{
	"Apply the policies with dryRun true, change a ConfigMap, and see in the condition Waiting what they would do.",
	"Scale the old project to zero, and set dryRun false, or remove it. Two that act on one workload restart it twice.",
	"The user who applies a policy needs the right to patch the workload, and to read what it watches.",
	"Leave what the old project wrote into pod templates: to remove it starts a rollout.",
}

// annotation returns one of the workload, or of its pod template.
func (s *subject) annotation(name string) cursor {
	c := s.root().in("metadata", "annotations", name)
	if c.exists() {
		return c
	}
	path := podSpec(s.GroupKind())
	return s.root().in(path[:max(len(path)-1, 0)]...).in("metadata", "annotations", name)
}

// source returns the object of a source; nil where the input has it not, or it is not read.
func (r *run) source(of rules.SourceName, namespace string) *object {
	if !isRead(of.Kind) {
		return nil
	}
	return r.get(schema.GroupKind{Kind: string(of.Kind)}, namespace, of.Name)
}

// isRead reports whether a RebootPolicy reads the annotations of sources of a kind.
func isRead(kind autorebootv1.SourceKind) bool { return kind != autorebootv1.SourceSecretProviderClass }

// sourceKinds lists all of them.
var sourceKinds = []autorebootv1.SourceKind{autorebootv1.SourceConfigMap, autorebootv1.SourceSecret, autorebootv1.SourceSecretProviderClass}

// annotated returns what decides for which changes a workload is restarted.
func (o *object) annotated() *rules.Workload {
	return &rules.Workload{Kind: common.KindOfGroup(o.Group, common.WorkloadKind(o.GroupVersionKind.Kind)),
		Namespace: o.namespace, Name: o.name, Annotations: annotationsOf(o.Get("metadata")),
		TemplateAnnotations: annotationsOf(o.templateMetadata())}
}

// referenced returns the sources that a pod template refers to, as a RebootPolicy finds them.
func referenced(o *object) ([]references.Reference, error) {
	var template corev1.PodTemplateSpec
	spec := o.podSpec()
	if spec == nil {
		return nil, nil
	}
	raw, err := json.Marshal(spec.Exact())
	if err == nil {
		err = json.Unmarshal(raw, &template.Spec)
	}
	return references.Of(&template), err
}

// reloaderSources returns the sources of workloads with annotations of Reloader. Their own annotations count.
func reloaderSources(in *input) (found []key) {
	for _, kind := range slices.Concat(restartedKinds, batchKinds) {
		for _, o := range in.objects[kind] {
			if len(reloaderAnnotations(o)) == 0 {
				continue
			}
			onChange := rules.OnChangeOf(autorebootv1.CompatibilityReloader, o.annotated())
			all := onChange.Names()
			refers, _ := referenced(o) // the translation refuses what does not fit
			for i := range refers {
				all = append(all, refers[i].Source())
			}
			for _, src := range all {
				k := key{schema.GroupKind{Kind: string(src.Kind)}, o.namespace, src.Name}
				if isRead(src.Kind) && !slices.Contains(found, k) {
					found = append(found, k)
				}
			}
		}
	}
	return found
}

// policy is a RebootPolicy of one workload.
type policy struct {
	*subject
	trigger autorebootv1.ConfigChange
	spec    autorebootv1.RebootPolicySpec
}

// read watches what the annotations of the workload ask for, and returns what they say; nil where it is restarted for nothing.
// Sources of ignored kinds are excluded already.
func (p *policy) read(
	r *run, compatibility autorebootv1.Compatibility, takesAll bool, ignored map[autorebootv1.SourceKind]bool,
) *rules.OnChange {
	of := rules.OnChangeOf(compatibility, p.annotated())
	if !of.OptedIn && (of.OptedOut || !takesAll) {
		p.say(Left, "its annotations ask for no restart")
		return nil
	}
	p.sayWhatIsNotTaken(&of)
	refers, err := referenced(p.object)
	if err != nil {
		p.say(Refused, "its pod template cannot be read: %v", err)
	}
	isListed := slices.ContainsFunc(sourceKinds, func(kind autorebootv1.SourceKind) bool {
		return !ignored[kind] && countsInPart(&of, kind, takesAll)
	})
	watched := p.referenced(r, refers, compatibility, func(ref *references.Reference) rules.Claim {
		if ignored[ref.Kind] {
			return rules.NoClaim
		}
		return of.ClaimTo(ref.Source(), ref.In, takesAll)
	})
	if isListed {
		p.trigger.Discovery = ptr.To(autorebootv1.DiscoveryExplicit)
		for _, src := range watched {
			p.add(src)
		}
		if len(watched) > 0 {
			p.say(Differs, "the sources are listed, since not all that the pod template refers to count: add those that it refers to later")
		}
	} else {
		p.exclude(&of, takesAll, ignored, refers, watched)
	}
	for _, name := range of.Names() {
		if !ignored[name.Kind] && !r.isIgnored(name, p.namespace, of.ClaimTo(name, 0, takesAll), compatibility) {
			p.add(name)
		}
	}
	if isListed && len(p.trigger.Sources) == 0 && !p.refused {
		p.say(Left, "its annotations name nothing that its pod template refers to, so that it is restarted for nothing")
		return nil
	}
	if of.Pause > 0 {
		pause := common.DurationOf(of.Pause)
		p.spec.Debounce = &autorebootv1.Debounce{QuietPeriod: &pause, MaxDelay: &pause}
	}
	return &of
}

// sayWhatIsNotTaken names what the annotations say and a policy cannot.
func (p *policy) sayWhatIsNotTaken(of *rules.OnChange) {
	for _, mistake := range of.Mistakes {
		p.say(Lost, "%s", mistake)
	}
	for _, pattern := range of.Patterns() {
		p.say(Refused, "%.60q is a regular expression: name the %ss", pattern.Name, pattern.Kind)
	}
}

// countsInPart reports whether sources of a kind neither count as a whole nor are excluded as a whole.
func countsInPart(of *rules.OnChange, kind autorebootv1.SourceKind, takesAll bool) bool {
	switch of.ClaimToKind(kind, takesAll) {
	case rules.IfMarked:
		return true
	case rules.NoClaim:
		return slices.ContainsFunc(of.Names(), func(name rules.SourceName) bool { return name.Kind == kind })
	}
	return false
}

// referenced returns the sources that count of those that the pod template refers to.
func (p *policy) referenced(
	r *run, refers []references.Reference, compatibility autorebootv1.Compatibility, claimTo func(*references.Reference) rules.Claim,
) (watched []rules.SourceName) {
	for i := range refers {
		src, claim := refers[i].Source(), claimTo(&refers[i])
		if claim == rules.NoClaim {
			continue
		}
		if claim == rules.IfMarked && r.source(src, p.namespace) == nil {
			p.say(Refused, "%s %s is not in the input: add it, so that its annotation %s can be read", src.Kind, src.Name,
				rules.ReloaderMatchAnnotation)
		}
		if !r.isIgnored(src, p.namespace, claim, compatibility) {
			watched = append(watched, src)
		}
	}
	return watched
}

// isIgnored reports whether the annotations of a source have it not count, as far as it is in the input.
func (r *run) isIgnored(of rules.SourceName, namespace string, claim rules.Claim, compatibility autorebootv1.Compatibility) bool {
	marks := rules.Marks{}
	if o := r.source(of, namespace); o != nil {
		marks = rules.MarksOf(annotationsOf(o.Get("metadata")))
	}
	return claim.IsIgnored(marks, compatibility)
}

// exclude excludes what the pod template refers to and does not count: whole kinds, and single sources of the others.
func (p *policy) exclude(
	of *rules.OnChange, takesAll bool, ignored map[autorebootv1.SourceKind]bool, refers []references.Reference, watched []rules.SourceName,
) {
	without := map[autorebootv1.SourceKind]bool{}
	for _, kind := range sourceKinds {
		if without[kind] = ignored[kind]; !ignored[kind] && of.ClaimToKind(kind, takesAll) == rules.NoClaim {
			without[kind] = true
			p.trigger.Exclude = append(p.trigger.Exclude, autorebootv1.ExcludedSource{Kind: kind, Selector: &common.LabelSelector{}})
		}
	}
	left := of.Except()
	for i := range refers {
		if src := refers[i].Source(); !slices.Contains(watched, src) && !slices.Contains(left, src) {
			left = append(left, src)
		}
	}
	for _, src := range left {
		if !without[src.Kind] {
			p.trigger.Exclude = append(p.trigger.Exclude, autorebootv1.ExcludedSource{Kind: src.Kind, Name: src.Name})
		}
	}
}

func (p *policy) add(src rules.SourceName) {
	if !slices.ContainsFunc(p.trigger.Sources, func(s autorebootv1.ConfigSource) bool { return s.Kind == src.Kind && s.Name == src.Name }) {
		p.trigger.Sources = append(p.trigger.Sources, autorebootv1.ConfigSource{Kind: src.Kind, Name: src.Name})
	}
}

// emit writes the policy, named as the workload; names counts the workloads of each name.
func (p *policy) emit(r *run, names map[string]int, more ...*subject) {
	out := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.workloadName(names)}, Spec: p.spec}
	target := autorebootv1.Target{Kind: common.WorkloadKind(p.GroupVersionKind.Kind), Name: p.name}
	if group := p.GroupKind().Group; group != common.AppsGroup {
		target.Group = group
	}
	out.Spec.Targets = []autorebootv1.Target{target}
	trigger := autorebootv1.Trigger{Name: "config", Type: autorebootv1.TriggerConfigChange}
	if c := p.trigger; c.Discovery != nil || len(c.Sources)+len(c.Exclude) > 0 || c.OnCreate != nil || c.OnDelete != nil {
		trigger.ConfigChange = &c
	}
	out.Spec.Triggers = []autorebootv1.Trigger{trigger}
	r.options.profile().apply(&out.Spec)
	pause := p.spec.Debounce
	isLonger := pause != nil && pause.QuietPeriod.Or(0) > out.Spec.Debounce.QuietPeriod.Or(0)
	if isLonger {
		out.Spec.Debounce = pause
	}
	r.emit(out, append([]*subject{p.subject}, more...)...)
	if isLonger {
		r.made[len(r.made)-1].comments["debounce"] = "As with " + rules.ReloaderPauseAnnotation + ", changes in this time restart it at its end, once."
	}
}

// workloadName is the name of an object for one workload: that of the workload, with its kind where another kind has one of
// that name.
func (s *subject) workloadName(names map[string]int) string {
	name := s.name
	if names[s.namespace+"/"+s.name] > 1 {
		name += "-" + strings.ToLower(s.GroupVersionKind.Kind)
	}
	if limit := 52; len(name) > limit {
		name = strings.TrimRight(name[:limit], "-.")
		s.say(Differs, "the object has a name of at most %d characters", limit)
	}
	return name
}

// workloads returns those of the kinds that Fairlead restarts, and of more of them, that are wanted, and how many there are of each
// name. Those of other kinds that are wanted are refused.
func (r *run) workloads(wanted func(o *object) bool, more ...schema.GroupKind) (found []*object, names map[string]int) {
	names = map[string]int{}
	for _, kind := range slices.Concat(restartedKinds, more) {
		for _, o := range r.objects[kind] {
			if wanted(o) {
				found = append(found, o)
				names[o.namespace+"/"+o.name]++
			}
		}
	}
	for _, kind := range []schema.GroupKind{jobKind, cronJobKind, {Group: "apps.openshift.io", Kind: "DeploymentConfig"}} {
		for _, o := range r.objects[kind] {
			if wanted(o) && !slices.Contains(more, kind) {
				r.subject(o).say(Refused, "no policy is written for its kind: leave it to the old project")
			}
		}
	}
	return found, names
}
