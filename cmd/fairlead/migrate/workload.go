// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

var (
	configMapKind   = schema.GroupKind{Kind: "ConfigMap"}
	deploymentKind  = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	daemonSetKind   = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	rolloutKind     = schema.GroupKind{Group: common.RolloutsGroup, Kind: string(common.WorkloadRollout)}
	jobKind         = schema.GroupKind{Group: "batch", Kind: "Job"}
	cronJobKind     = schema.GroupKind{Group: "batch", Kind: "CronJob"}
	podKind         = schema.GroupKind{Kind: "Pod"}

	// restartedKinds are those that a RebootPolicy restarts.
	restartedKinds = []schema.GroupKind{deploymentKind, statefulSetKind, daemonSetKind, rolloutKind}

	// batchKinds are those that a RebootPolicy with the annotations of another project restarts besides, where the operator's
	// configuration has them.
	batchKinds = []schema.GroupKind{cronJobKind, jobKind}

	deploymentReads  = Kind{GroupKind: deploymentKind, Version: "v1", Plural: "deployments"}
	statefulSetReads = Kind{GroupKind: statefulSetKind, Version: "v1", Plural: "statefulsets"}
	daemonSetReads   = Kind{GroupKind: daemonSetKind, Version: "v1", Plural: "daemonsets"}
)

// podSpec returns the path of the spec of the pods that a kind makes; nil where it makes none.
func podSpec(kind schema.GroupKind) []string {
	switch kind {
	case deploymentKind, statefulSetKind, daemonSetKind, rolloutKind, jobKind:
		return []string{"spec", "template", "spec"}
	case cronJobKind:
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case podKind:
		return []string{"spec"}
	}
	return nil
}

// ofProject returns the objects that run an image of a project, by their names.
func (in *input) ofProject(project string) (found []*object) {
	for _, objects := range in.objects {
		for _, o := range objects {
			if containerOf(o, project) != nil {
				found = append(found, o)
			}
		}
	}
	slices.SortFunc(found, func(a, b *object) int { return strings.Compare(a.key().String(), b.key().String()) })
	return found
}

// containerOf returns the container that runs an image of a project.
func containerOf(o *object, project string) *manifest.Node {
	for _, c := range under(o.podSpec().Get("containers")) {
		image, _, _ := strings.Cut(c.Text("image"), "@")
		image, _, _ = strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		if image == project {
			return c
		}
	}
	return nil
}

// setting is a value that a process was started with.
type setting struct {
	value string
	cursor
	env bool // and no argument
}

// settings reads the environment of a container, and then the flags, which win. Names are those of the flags. Values of
// ConfigMaps are those of the input.
func (r *run) settings(s *subject, project, prefix string) map[string]setting {
	found := map[string]setting{}
	c := s.root().in(podSpec(s.GroupKind())...)
	for _, container := range c.in("containers").items() {
		if container.n != containerOf(s.object, project) {
			continue
		}
		r.environment(found, container, prefix)
		arguments := slices.Concat(container.in("command").items(), container.in("args").items())
		for i := 0; i < len(arguments); i++ {
			i += argument(found, arguments[i:])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if v := found[name]; strings.Contains(v.value, "$(") {
			v.say(Refused, "--%s refers to a variable; write its value into the manifest", name)
		}
	}
	return found
}

// environment reads the variables of a container whose names have a prefix.
func (r *run) environment(found map[string]setting, container cursor, prefix string) {
	set := func(name, value string, at cursor) {
		if name, is := strings.CutPrefix(name, prefix); is {
			found[strings.ReplaceAll(strings.ToLower(name), "_", "-")] = setting{value, at, true}
		}
	}
	for _, from := range container.in("envFrom").items() {
		first, ref := from.in("prefix").text(), from.in("configMapRef")
		r.configMap(ref, func(key, value string) { set(first+key, value, ref) })
		if from.in("secretRef").exists() {
			from.in("secretRef").say(Lost, "a Secret is not read; give what it sets as arguments")
		}
	}
	for _, env := range container.in("env").items() {
		name := env.in("name").text()
		if !strings.HasPrefix(name, prefix) {
			env.use()
			continue
		}
		switch from := env.in("valueFrom"); {
		case !from.exists():
			set(name, env.in("value").text(), env.in("value"))
		case from.in("configMapKeyRef").exists():
			ref := from.in("configMapKeyRef")
			wanted := ref.in("key").text()
			r.configMap(ref, func(key, value string) {
				if key == wanted {
					set(name, value, ref)
				}
			})
		default:
			from.say(Refused, "sets %s from what is not read here; write the value into the manifest", name)
		}
	}
}

// argument reads a flag, and returns how many further arguments belong to it.
func argument(found map[string]setting, arguments []cursor) int {
	text := arguments[0].text()
	name, is := strings.CutPrefix(text, "--")
	if !is {
		return 0
	}
	name, value, assigned := strings.Cut(name, "=")
	if off, is := strings.CutPrefix(name, "no-"); is && !assigned {
		found[off] = setting{"false", arguments[0], false}
		return 0
	}
	if !assigned && len(arguments) > 1 {
		if next, _ := arguments[1].n.Value.(string); !strings.HasPrefix(next, "-") && next != "" {
			found[name] = setting{next, arguments[0], false}
			arguments[1].use()
			return 1
		}
	}
	if !assigned {
		value = "true"
	}
	found[name] = setting{value, arguments[0], false}
	return 0
}

// configMap calls visit with what a ConfigMap holds that a reference names.
func (r *run) configMap(ref cursor, visit func(key, value string)) {
	if !ref.exists() {
		return
	}
	name := ref.in("name").text()
	o := r.get(configMapKind, ref.s.namespace, name)
	if o == nil {
		ref.say(Refused, "ConfigMap %s is not in the input; give it too", name)
		return
	}
	data := o.Get("data")
	if data == nil {
		return
	}
	for i := range data.Members {
		value, _ := data.Members[i].Value.Value.(string)
		visit(data.Members[i].Key, value)
	}
}

// configMapsOf returns the ConfigMaps that the pods of a project get their settings from, and that are not read yet.
func configMapsOf(in *input, project string) (found []key) {
	for _, o := range in.ofProject(project) {
		c := containerOf(o, project)
		named := slices.Concat(under(c.Get("envFrom"), "configMapRef"), under(c.Get("env"), "valueFrom", "configMapKeyRef"),
			under(o.podSpec().Get("volumes"), "configMap"))
		for _, n := range named {
			k := key{configMapKind, o.namespace, n.Text("name")}
			if k.name != "" && in.byKey[k] == nil && !slices.Contains(found, k) {
				found = append(found, k)
			}
		}
	}
	return found
}

// under returns what is below some keys of the items of a list.
func under(list *manifest.Node, keys ...string) (found []*manifest.Node) {
	if list == nil {
		return nil
	}
	for _, n := range list.Items {
		for _, k := range keys {
			n = n.Get(k)
		}
		found = append(found, n)
	}
	return found
}

// podTemplate returns the template of the pods that a workload makes; nil where it makes none.
func (o *object) podTemplate() *manifest.Node {
	path := podSpec(o.GroupKind())
	n := o.Node
	for _, k := range path[:max(len(path)-1, 0)] {
		n = n.Get(k)
	}
	if len(path) < 2 {
		return nil
	}
	return n
}

// podSpec returns the spec of the pods that an object makes; nil where it makes none.
func (o *object) podSpec() *manifest.Node {
	path := podSpec(o.GroupKind())
	if path == nil {
		return nil
	}
	n := o.Node
	for _, k := range path {
		n = n.Get(k)
	}
	return n
}
