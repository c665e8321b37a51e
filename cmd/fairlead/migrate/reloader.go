// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"maps"
	"slices"
	"strings"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

var reloaderReads = []Kind{deploymentReads, statefulSetReads, daemonSetReads,
	{GroupKind: cronJobKind, Version: "v1", Plural: "cronjobs", Optional: true},
	{GroupKind: jobKind, Version: "v1", Plural: "jobs", Optional: true},
	{GroupKind: rolloutKind, Version: "v1alpha1", Plural: "rollouts", Optional: true},
}

const reloaderPauses = "After Reloader is scaled to zero, see that no Deployment with the annotation deployment.reloader.stakater.com/paused-at has spec.paused: " +
	"Reloader alone resumes it. `kubectl rollout resume` does so too."

var reloader = &Peer{
	Name: "reloader", Title: "workloads with the annotations of Reloader", Into: "ClusterRebootPolicy",
	Reads:       reloaderReads,
	Follows:     func(in *input) []key { return configMapsOf(in, "reloader") },
	Differences: clusterPolicyDifferences,
	Steps:       append(slices.Clone(clusterPolicySteps), reloaderPauses),
	translate:   translateReloaderToCluster,
	PerWorkload: reloaderPerWorkload,
}

var reloaderPerWorkload = &Peer{
	Name: "reloader", Into: "RebootPolicy",
	Reads: reloaderReads,
	Follows: func(in *input) []key {
		return slices.Concat(configMapsOf(in, "reloader"), sourcesOf(in, func(o *object) bool { return len(reloaderAnnotations(o)) > 0 }))
	},
	Differences: append([]string{
		"Each policy is an object of its namespace, named as the workload. One policy with selectors can replace many: target.selector takes labels.",
	}, restartDifferences...),
	Steps:     append(slices.Clone(restartSteps), reloaderPauses),
	translate: translateReloader,
}

// reloaderAnnotations are those of a workload, or of its pod template.
func reloaderAnnotations(o *object) (found []string) {
	for _, metadata := range []*manifest.Node{o.Get("metadata"), o.podTemplate().Get("metadata")} {
		if annotations := metadata.Get("annotations"); annotations != nil {
			for i := range annotations.Members {
				if k := annotations.Members[i].Key; strings.Contains(k, "reloader.stakater.com/") && !slices.Contains(found, k) {
					found = append(found, k)
				}
			}
		}
	}
	return found
}

// reloading is the configuration of Reloader.
type reloading struct {
	from               []*subject
	all                bool
	onCreate, onDelete *autorebootv1.SourceAction
	ignored            map[autorebootv1.SourceKind]bool
	namespaces, others []string
	selectors          []setting
	// without are resources that are not reloaded, such as jobs.
	without []string
}

// restarts reports whether Reloader restarts a workload, if nothing switches that off.
func (c *reloading) restarts(o *object) bool {
	return len(reloaderAnnotations(o)) > 0 || c.all && !slices.Contains([]string{"Job", "CronJob"}, o.GroupVersionKind.Kind)
}

// ignores reports whether Reloader leaves all workloads of the kind of one alone.
func (c *reloading) ignores(o *object) bool {
	return slices.ContainsFunc(c.without, func(resource string) bool { return strings.EqualFold(resource, o.GroupVersionKind.Kind+"s") })
}

// watches reports whether Reloader watches a namespace, as far as its name decides.
func (c *reloading) watches(namespace string) bool {
	return !slices.Contains(c.others, namespace) && (len(c.namespaces) == 0 || slices.Contains(c.namespaces, namespace))
}

func translateReloader(r *run) {
	config := r.reloading()
	for _, v := range config.selectors {
		v.say(Lost, "--namespace-selector has no counterpart")
	}
	all, names := r.workloads(config.restarts)
	for _, o := range all {
		s := r.subject(o)
		if !config.watches(o.namespace) {
			s.say(Left, "its namespace is one that Reloader does not watch")
			continue
		}
		notePaused(s)
		if w := (reloaded{policy{subject: s}, r, config}); w.translate() {
			w.emit(r, names, config.from...)
		}
	}
}

// reloading reads the flags of Reloader's own Deployment.
func (r *run) reloading() reloading {
	c := reloading{ignored: map[autorebootv1.SourceKind]bool{}}
	for _, o := range r.ofProject("reloader") {
		s := r.subject(o)
		c.from = append(c.from, s)
		flags := r.settings(s, "reloader", "ALERT_")
		if !isTrue(flags["enable-csi-integration"].value) {
			c.ignored[autorebootv1.SourceSecretProviderClass] = true
		}
		for _, name := range slices.Sorted(maps.Keys(flags)) {
			c.set(name, flags[name])
		}
	}
	return c
}

func (c *reloading) set(name string, v setting) {
	list := strings.FieldsFunc(v.value, func(r rune) bool { return r == ',' || r == ' ' })
	switch name {
	case "auto-reload-all":
		c.all = isTrue(v.value)
	case "reload-on-create":
		c.onCreate = restartIf(v.value)
	case "reload-on-delete":
		c.onDelete = restartIf(v.value)
	case "namespaces":
		c.namespaces = list
	case "namespaces-to-ignore":
		c.others = list
	case "namespace-selector":
		c.selectors = append(c.selectors, v)
	case "resources-to-ignore":
		for _, kind := range list {
			c.ignored[map[string]autorebootv1.SourceKind{
				"configmaps": autorebootv1.SourceConfigMap, "configMaps": autorebootv1.SourceConfigMap, "secrets": autorebootv1.SourceSecret,
			}[kind]] = true
		}
	case "enable-csi-integration":
		// has its default without the flag
	case "log-format", "log-level", "enable-ha", "enable-pprof", "pprof-addr", "sync-after-restart":
		// are about the process
	case "ignored-workload-types":
		c.without = list
	case "reload-strategy":
		// is about how a pod template is changed
	default:
		switch {
		case v.env:
			v.say(Lost, "restarts are Events, metrics and status.history; there is no webhook")
		case strings.HasSuffix(name, "-annotation"):
			v.say(Refused, "--%s gives an annotation another name, which is not read: write the annotations with the names of Reloader", name)
		default:
			v.say(Lost, "--%s has no counterpart", name)
		}
	}
}

// restartIf returns what a trigger does for a flag; nil for its default.
func restartIf(flag string) *autorebootv1.SourceAction {
	if !isTrue(flag) {
		return nil
	}
	restart := autorebootv1.SourceRestart
	return &restart
}

// reloaded is a workload that Reloader restarts.
type reloaded struct {
	policy
	run    *run
	config reloading
}

const (
	auto     = "reloader.stakater.com/auto"
	search   = "reloader.stakater.com/search"
	match    = "reloader.stakater.com/match"
	ignore   = "reloader.stakater.com/ignore"
	rollout  = "reloader.stakater.com/rollout-strategy"
	pause    = "deployment.reloader.stakater.com/pause-period"
	pausedAt = "deployment.reloader.stakater.com/paused-at"
	listed   = ".reloader.stakater.com/reload"
	excluded = ".exclude.reloader.stakater.com/reload"
)

// prefixes of the annotations of a kind.
var prefixes = []struct {
	kind           autorebootv1.SourceKind
	prefix, plural string
}{
	{autorebootv1.SourceConfigMap, "configmap", "configmaps"}, {autorebootv1.SourceSecret, "secret", "secrets"},
	{autorebootv1.SourceSecretProviderClass, "secretproviderclass", "secretproviderclasses"},
}

// translate reports whether there is something to watch.
func (w *reloaded) translate() bool {
	on := w.annotation(auto)
	text := on.text()
	all := isTrue(text) || w.config.all && text == ""
	if on.exists() && !isTrue(text) {
		w.say(Left, "%s switches its restarts off", auto)
		return false
	}
	w.spec = autorebootv1.RebootPolicySpec{}
	w.trigger.OnCreate, w.trigger.OnDelete = w.config.onCreate, w.config.onDelete
	var named, without []source
	for _, p := range prefixes {
		if p.kind == autorebootv1.SourceSecretProviderClass && w.config.ignored[p.kind] {
			continue
		}
		named = append(named, w.names(p.kind, p.prefix+listed)...)
		without = append(without, w.names(p.kind, p.plural+excluded)...)
	}
	w.referenced(all, without)
	for _, src := range named {
		w.add(src)
	}
	w.pause()
	noteRollout(w.subject)
	w.others()
	if w.trigger.Discovery != nil && len(w.trigger.Sources) == 0 && !w.refused {
		w.say(Left, "its annotations name nothing that its pod template refers to, so that it is restarted for nothing")
		return false
	}
	return true
}

// referenced watches what the template refers to: all of it where nothing is left out, and else a list.
func (w *reloaded) referenced(all bool, without []source) {
	typed := map[autorebootv1.SourceKind]bool{}
	for _, p := range prefixes {
		typed[p.kind] = (all || isTrue(w.annotation(p.prefix+"."+auto).text())) && !w.config.ignored[p.kind]
	}
	searched := isTrue(w.annotation(search).text()) && !all
	var watched, left []source
	refers, err := referenced(w.object)
	if err != nil {
		w.say(Refused, "its pod template cannot be read: %v", err)
	}
	for _, src := range refers {
		o := w.run.source(src, w.namespace)
		matched := searched && o.isAnnotated(match)
		if searched && o == nil && isRead(src.kind) {
			w.annotation(search).note(Refused, "%s %s is not in the input, so that it is not known whether it has the annotation %s; give it too", src.kind, src.name, match)
		}
		if (typed[src.kind] || matched) && !slices.Contains(without, src) && !o.isAnnotated(ignore) {
			watched = append(watched, src)
		} else {
			left = append(left, src)
		}
	}
	if typed[autorebootv1.SourceConfigMap] && typed[autorebootv1.SourceSecret] && len(left) == 0 {
		w.excludeClasses(typed)
		return // all of it, also what the template refers to later
	}
	w.explicit()
	for _, src := range watched {
		w.add(src)
	}
	if len(watched) > 0 {
		w.say(Differs, "the sources are listed, since not all that the pod template refers to count: add those that it refers to later")
	}
}

// isRead reports whether a RebootPolicy reads the annotations of sources of a kind.
func isRead(kind autorebootv1.SourceKind) bool { return kind != autorebootv1.SourceSecretProviderClass }

// excludeClasses excludes all SecretProviderClasses, unless they are among the kinds that count.
func (w *reloaded) excludeClasses(typed map[autorebootv1.SourceKind]bool) {
	if kind := autorebootv1.SourceSecretProviderClass; !typed[kind] {
		w.trigger.Exclude = append(w.trigger.Exclude, autorebootv1.ExcludedSource{Kind: kind, Selector: &common.LabelSelector{}})
	}
}

// isAnnotated reports whether an object is in the input and has an annotation that is true.
func (o *object) isAnnotated(name string) bool {
	return o != nil && isTrue(o.Get("metadata").Get("annotations").Text(name))
}

// names returns the sources of a kind that an annotation names.
func (w *reloaded) names(kind autorebootv1.SourceKind, annotation string) (found []source) {
	at := w.annotation(annotation)
	for name := range strings.SplitSeq(at.text(), ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case nameOfObject.MatchString(name):
			found = append(found, source{kind, name})
		default:
			at.note(Refused, "%.60q is a pattern, which Reloader takes for a regular expression: name the sources", name)
		}
	}
	return found
}

// hasPattern reports whether an annotation names sources by a regular expression.
func hasPattern(s *subject) bool {
	for _, p := range prefixes {
		for name := range strings.SplitSeq(s.annotation(p.prefix+listed).text(), ",") {
			if name = strings.TrimSpace(name); name != "" && !nameOfObject.MatchString(name) {
				return true
			}
		}
	}
	return false
}

// pause is a cooldown: the time between two restarts.
func (w *reloaded) pause() {
	at := w.annotation(pause)
	text := at.text()
	if text == "" {
		return
	}
	span, err := time.ParseDuration(text)
	if err != nil || span <= 0 {
		at.say(Refused, "%.40q is no duration such as 5m", text)
		return
	}
	cooldown := common.DurationOf(span)
	w.spec.Cooldown = &cooldown
}

// noteRollout notes what a restart of an Argo Rollout is, where Reloader would roll out a revision.
func noteRollout(s *subject) {
	if s.GroupKind() == rolloutKind && s.annotation(rollout).text() != "restart" {
		s.say(Differs, "it is restarted by spec.restartAt, as with %s: restart, and not rolled out by the steps of its strategy", rollout)
	}
}

// notePaused notes a Deployment that Reloader has paused, and that only its timer would resume.
func notePaused(s *subject) {
	paused := s.root().in("spec", "paused")
	if s.GroupKind() != deploymentKind || !s.annotation(pausedAt).exists() || paused.is("false") {
		return
	}
	command := "kubectl rollout resume deployment/" + s.name
	if s.namespace != "" {
		command += " -n " + s.namespace
	}
	paused.say(Differs, "Reloader has paused it, and resumes it only while Reloader runs; until then a restart waits with the reason Paused. "+
		"If it is still paused when Reloader has ended: `%s`", command)
}

// others names the annotations that have no counterpart.
func (w *reloaded) others() {
	for _, name := range reloaderAnnotations(w.object) {
		if at := w.annotation(name); !w.read[at.n] {
			if text := notCarriedOver(name); text != "" {
				at.say(Lost, "%s", text)
			}
		}
	}
}

// notCarriedOver is why an annotation that is not read means nothing here; "" where it meant nothing for a workload.
func notCarriedOver(annotation string) string {
	switch {
	case strings.HasPrefix(annotation, "secretproviderclass"):
		return "means nothing to Reloader without its flag --enable-csi-integration"
	case strings.HasSuffix(annotation, "last-reloaded-from"), strings.HasSuffix(annotation, "paused-at"):
		return "" // written by Reloader
	case strings.HasSuffix(annotation, "rollout-strategy"):
		return "" // of Argo Rollouts alone
	}
	return "is no annotation of Reloader that is known here"
}
