// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// reloaderFlags are the flags that Reloader was started with.
type reloaderFlags struct {
	set                                                              *pflag.FlagSet
	all, classes                                                     bool
	onCreate, onDelete, rollouts, webhook                            string
	kinds, workloads, namespaces, others, nsSelectors, dataSelectors []string
}

// newReloaderFlags declares the flags of Reloader v1.4.21 (internal/pkg/util ConfigureReloaderFlags), with its types and defaults.
func newReloaderFlags() *reloaderFlags {
	f := &reloaderFlags{set: pflag.NewFlagSet("reloader", pflag.ContinueOnError)}
	f.set.BoolVar(&f.all, "auto-reload-all", false, "")
	f.set.BoolVar(&f.classes, "enable-csi-integration", false, "")
	f.set.StringVar(&f.onCreate, "reload-on-create", "false", "")
	f.set.StringVar(&f.onDelete, "reload-on-delete", "false", "")
	f.set.StringVar(&f.rollouts, "is-Argo-Rollouts", "false", "")
	f.set.StringVar(&f.webhook, "webhook-url", "", "")
	f.set.StringSliceVar(&f.kinds, "resources-to-ignore", nil, "")
	f.set.StringSliceVar(&f.workloads, "ignored-workload-types", nil, "")
	f.set.StringSliceVar(&f.namespaces, "namespaces", nil, "")
	f.set.StringSliceVar(&f.others, "namespaces-to-ignore", nil, "")
	f.set.StringSliceVar(&f.nsSelectors, "namespace-selector", nil, "")
	f.set.StringSliceVar(&f.dataSelectors, "resource-label-selector", nil, "")
	for name, value := range renamable {
		f.set.String(name, value, "")
	}
	// About the process, and about how a pod template is changed.
	for _, name := range []string{"log-format", "log-level", "pprof-addr", "reload-strategy"} {
		f.set.String(name, "", "")
	}
	for _, name := range []string{"enable-ha", "enable-pprof", "sync-after-restart"} {
		f.set.Bool(name, false, "")
	}
	return f
}

// renamable are the annotations that a flag may give another name.
var renamable = map[string]string{
	"configmap-annotation": "configmap.reloader.stakater.com/reload", "secret-annotation": "secret.reloader.stakater.com/reload",
	"configmap-auto-annotation": "configmap.reloader.stakater.com/auto", "secret-auto-annotation": "secret.reloader.stakater.com/auto",
	"auto-annotation": rules.ReloaderAutoAnnotation, "auto-search-annotation": rules.ReloaderSearchAnnotation,
	"search-match-annotation": rules.ReloaderMatchAnnotation, "ignore-annotation": rules.ReloaderIgnoreAnnotation,
	"pause-deployment-annotation":      rules.ReloaderPauseAnnotation,
	"pause-deployment-time-annotation": rules.ReloaderPausedAtAnnotation,
}

// reloading is the configuration of Reloader.
type reloading struct {
	from []*subject
	// all means that workloads without an annotation are restarted too, and rollouts that Rollouts are.
	all, rollouts      bool
	onCreate, onDelete *autorebootv1.SourceAction
	// ignored are kinds of sources, without are ConfigMaps and Secrets with labels, a requirement each, and idle kinds of workloads.
	ignored map[autorebootv1.SourceKind]bool
	without []common.LabelRequirement
	idle    map[string]bool
	// namespaces are those that are watched, or all but others that selector selects.
	namespaces, others []string
	selector           labels.Requirements
}

// reloading reads how Reloader is started. Where that is not in the input, its flags count as not set.
func (r *run) reloading() *reloading {
	var c *reloading
	for _, o := range r.ofProject("reloader") {
		s := r.subject(o)
		found := r.readReloading(s)
		switch {
		case c == nil:
			c = found
		case !c.merge(found):
			s.say(Refused, "is a second Reloader with other flags: migrate each in a run of its own, with its namespace alone")
		}
		c.from = append(c.from, s)
	}
	if c == nil {
		r.remarks = append(r.remarks, Remark{Effect: Left, Object: "Reloader", Text: "its Deployment is not in the input, so that its " +
			"flags count as not set: no Rollouts, no SecretProviderClasses, and workloads with annotations alone; give it too"})
		c = &reloading{ignored: map[autorebootv1.SourceKind]bool{autorebootv1.SourceSecretProviderClass: true}}
	}
	return c
}

// merge adds the namespaces of a second Reloader, and reports whether the two differ in nothing else.
func (c *reloading) merge(other *reloading) bool {
	a, b := *c, *other
	a.from, a.namespaces, b.from, b.namespaces = nil, nil, nil, nil
	if !reflect.DeepEqual(a, b) {
		return false
	}
	if len(c.namespaces) == 0 || len(other.namespaces) == 0 {
		c.namespaces = nil
	} else {
		c.namespaces = append(c.namespaces, other.namespaces...)
	}
	return true
}

// readReloading reads the arguments and the environment of Reloader's own pods.
func (r *run) readReloading(s *subject) *reloading {
	f, at := r.parse(s)
	for _, name := range slices.Sorted(maps.Keys(renamable)) {
		if value, _ := f.set.GetString(name); value != renamable[name] {
			at(name).say(Refused, "--%s gives an annotation another name, which is not read: write the annotations with the names of Reloader", name)
		}
	}
	if f.webhook != "" {
		at("webhook-url").say(Refused, "with --webhook-url, Reloader calls that alone, and restarts nothing")
	}
	c := &reloading{all: f.all, rollouts: f.rollouts == "true", onCreate: restartIf(f.onCreate), onDelete: restartIf(f.onDelete),
		ignored: map[autorebootv1.SourceKind]bool{}, idle: map[string]bool{}}
	for _, of := range parseSelectors(f.dataSelectors, "resource-label-selector", at) {
		if not, is := requirementOf(of, true); is {
			c.without = append(c.without, not)
		} else {
			at("resource-label-selector").say(Refused, "--resource-label-selector compares numbers: label the ConfigMaps and Secrets, and select them by that")
		}
	}
	c.readKinds(f, at)
	c.readNamespaces(f, at, r.environmentOf(s))
	return c
}

// parse parses the arguments of Reloader as it does itself, and returns where a flag is.
func (r *run) parse(s *subject) (f *reloaderFlags, at func(name string) cursor) {
	f = newReloaderFlags()
	var arguments []cursor
	var texts []string
	c := s.root().in(podSpec(s.GroupKind())...)
	for _, container := range c.in("containers").items() {
		if container.n != containerOf(s.object, "reloader") {
			continue
		}
		c = container
		for _, argument := range slices.Concat(container.in("command").items(), container.in("args").items()) {
			text := argument.text()
			if strings.Contains(text, "$(") {
				argument.say(Refused, "%.60q refers to a variable; write its value into the manifest", text)
			}
			arguments, texts = append(arguments, argument), append(texts, text)
		}
	}
	if err := f.set.Parse(texts); err != nil {
		c.in("args").note(Refused, "%v: remove the flag from the Deployment that you give, unless it makes Reloader watch less", err)
	}
	return f, func(name string) cursor {
		for _, argument := range slices.Backward(arguments) {
			if flag, _, _ := strings.Cut(argument.text(), "="); flag == "--"+name {
				return argument
			}
		}
		return c.in("args")
	}
}

// environmentOf returns the namespace to which the environment of Reloader confines it; "" for none.
func (r *run) environmentOf(s *subject) (namespace string) {
	for name, v := range r.environment(s, "reloader", func(name string) bool {
		return name == "KUBERNETES_NAMESPACE" || strings.HasPrefix(name, "ALERT_")
	}) {
		switch {
		case name != "KUBERNETES_NAMESPACE":
			v.say(Lost, "restarts are Events, metrics and status.history; there is no webhook")
		case !v.isKnown:
			v.say(Refused, "confines Reloader to a namespace that the manifest does not name: write its name")
		default:
			namespace = v.value
		}
	}
	return namespace
}

func (c *reloading) readKinds(f *reloaderFlags, at func(string) cursor) {
	for _, name := range f.kinds {
		kind, is := map[string]autorebootv1.SourceKind{
			"configmaps": autorebootv1.SourceConfigMap, "secrets": autorebootv1.SourceSecret,
		}[strings.ToLower(name)]
		if !is || len(f.kinds) > 1 {
			at("resources-to-ignore").say(Refused, "--resources-to-ignore takes configmaps or secrets: Reloader does not start with %.60q", f.kinds)
			break
		}
		c.ignored[kind] = true
	}
	for _, name := range f.workloads { // one that it does not know has all of them ignored
		if kind := map[string]string{"jobs": "Job", "cronjobs": "CronJob"}[name]; kind != "" {
			c.idle[kind] = true
			continue
		}
		c.idle = map[string]bool{}
		break
	}
	if f.classes && len(c.without) > 0 {
		at("resource-label-selector").note(Differs,
			"SecretProviderClasses are left out: Reloader selects what their pods have mounted by labels, and their labels are not read here")
	}
	if !f.classes || len(c.without) > 0 {
		c.ignored[autorebootv1.SourceSecretProviderClass] = true
	}
}

// readNamespaces reads which namespaces are watched, in the order of Reloader's resolveWatchNamespaces. What it ignores and what it
// selects counts only where it watches all of them.
func (c *reloading) readNamespaces(f *reloaderFlags, at func(string) cursor, own string) {
	names := func(flag string, all []string) (valid []string) {
		for _, name := range all {
			if len(validation.IsDNS1123Label(name)) > 0 {
				at(flag).note(Lost, "--%s has %.70q, which is the name of no namespace, to Reloader neither", flag, name)
				continue
			}
			valid = append(valid, name)
		}
		return valid
	}
	switch {
	case len(f.namespaces) > 0:
		if c.namespaces = names("namespaces", f.namespaces); len(c.namespaces) == 0 {
			at("namespaces").say(Refused, "--namespaces names no namespace")
		}
	case own != "":
		c.namespaces = []string{own}
	default:
		c.others = names("namespaces-to-ignore", f.others)
		c.selector = parseSelectors(f.nsSelectors, "namespace-selector", at)
	}
}

// parseSelectors parses labels as Reloader does (pkg/common GetNamespaceLabelSelector): "key:value" is "key=value", and "key=*" is
// "key".
func parseSelectors(all []string, flag string, at func(string) cursor) labels.Requirements {
	joined := slices.Clone(all)
	for i, one := range all {
		if parts := strings.Split(one, ":"); len(parts) > 1 {
			joined[i] = parts[0] + "=" + parts[1]
			if parts[1] == "*" {
				joined[i] = parts[0]
			}
		}
		if parts := strings.Split(one, "="); len(parts) > 1 && parts[1] == "*" {
			joined[i] = parts[0]
		}
	}
	selector, err := labels.Parse(strings.Join(joined, ","))
	if err != nil {
		at(flag).say(Refused, "--%s %.60q is no selector such as team=shop: %v", flag, strings.Join(all, ","), err)
		return nil
	}
	requirements, _ := selector.Requirements()
	return requirements
}

// requirementOf returns a requirement, or what it does not hold for, in the words of the API; false where there is none.
func requirementOf(r labels.Requirement, negated bool) (out common.LabelRequirement, is bool) {
	const in, notIn, exists, absent = metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist
	pair, is := map[string][2]metav1.LabelSelectorOperator{
		"=": {in, notIn}, "==": {in, notIn}, "in": {in, notIn}, "!=": {notIn, in}, "notin": {notIn, in}, "exists": {exists, absent},
		"!": {absent, exists},
	}[string(r.Operator())]
	out = common.LabelRequirement{Key: r.Key(), Operator: pair[0]}
	if negated {
		out.Operator = pair[1]
	}
	for _, value := range r.ValuesUnsorted() {
		out.Values = append(out.Values, common.LabelValue(value))
	}
	slices.Sort(out.Values)
	return out, is
}

// restartIf returns what a trigger does for a flag, which Reloader compares with a word; nil for its default.
func restartIf(flag string) *autorebootv1.SourceAction {
	if flag != "true" {
		return nil
	}
	restart := autorebootv1.SourceRestart
	return &restart
}

// exclude returns the sources that do not count for any workload.
func (c *reloading) exclude() (all []autorebootv1.ExcludedSource) {
	for _, kind := range slices.Sorted(maps.Keys(c.ignored)) {
		all = append(all, autorebootv1.ExcludedSource{Kind: kind, Selector: &common.LabelSelector{}})
	}
	for _, kind := range []autorebootv1.SourceKind{autorebootv1.SourceConfigMap, autorebootv1.SourceSecret} {
		for _, requirement := range c.without {
			if !c.ignored[kind] {
				all = append(all, autorebootv1.ExcludedSource{Kind: kind, Selector: &common.LabelSelector{
					MatchExpressions: []common.LabelRequirement{requirement},
				}})
			}
		}
	}
	return all
}

// isOwned reports whether it is a Job that another object has made, which comes and goes with that.
func isOwned(o *object) bool {
	return o.GroupKind() == jobKind && o.Get("metadata").Get("ownerReferences") != nil
}

// restarts reports whether a policy may restart a workload that Reloader does.
func (c *reloading) restarts(o *object) bool {
	kind := o.GroupVersionKind.Kind
	switch {
	case c.idle[kind], isOwned(o):
		return false
	case slices.Contains(batchKinds, o.GroupKind()):
		return len(reloaderAnnotations(o)) > 0
	}
	return c.all || len(reloaderAnnotations(o)) > 0
}

// watches reports whether Reloader watches a namespace, and why that is not known; "" where it is.
func (c *reloading) watches(r *run, namespace string) (watches bool, unknown string) {
	switch {
	case slices.Contains(c.others, namespace), len(c.namespaces) > 0 && !slices.Contains(c.namespaces, namespace):
		return false, ""
	case len(c.selector) == 0:
		return true, ""
	}
	of := r.get(namespaceKind, "", namespace)
	if of == nil {
		return true, fmt.Sprintf("Namespace %s is not in the input: add it, so that its labels can be compared with --namespace-selector", namespace)
	}
	found := labels.Set{corev1.LabelMetadataName: namespace}
	if have := of.Get("metadata").Get("labels"); have != nil {
		for i := range have.Members {
			found[have.Members[i].Key], _ = have.Members[i].Value.Value.(string)
		}
	}
	return !slices.ContainsFunc(c.selector, func(of labels.Requirement) bool { return !of.Matches(found) }), ""
}
