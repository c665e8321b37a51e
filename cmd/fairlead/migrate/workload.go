// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

var (
	namespaceKind   = schema.GroupKind{Kind: "Namespace"}
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

	// batchKinds are those that a RebootPolicy restarts besides, where the operator's configuration has them.
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

// setting is a variable that a process was started with.
type setting struct {
	value string
	cursor
	isKnown bool
}

// environment returns the variables of the container of a project that are wanted. Values of ConfigMaps are those of the input.
func (r *run) environment(s *subject, project string, wanted func(name string) bool) map[string]setting {
	found := map[string]setting{}
	set := func(name, value string, at cursor) {
		if wanted(name) {
			found[name] = setting{value, at, true}
		}
	}
	for _, container := range s.root().in(podSpec(s.GroupKind())...).in("containers").items() {
		if container.n != containerOf(s.object, project) {
			continue
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
			if !wanted(name) {
				env.use()
				continue
			}
			if value := r.variable(s, env); value != nil {
				found[name] = *value
			}
		}
	}
	return found
}

// variable returns a variable of a container; nil where it names a key that its ConfigMap does not have.
func (r *run) variable(s *subject, env cursor) (found *setting) {
	switch from := env.in("valueFrom"); {
	case !from.exists():
		return &setting{env.in("value").text(), env.in("value"), true}
	case from.in("fieldRef").in("fieldPath").is("metadata.namespace") && from.in("fieldRef").exists():
		return &setting{s.namespace, from, s.namespace != ""}
	case from.in("configMapKeyRef").exists():
		ref := from.in("configMapKeyRef")
		key := ref.in("key").text()
		r.configMap(ref, func(has, value string) {
			if has == key {
				found = &setting{value, ref, true}
			}
		})
		return found
	default:
		from.use()
		return &setting{cursor: from}
	}
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

// podSpec returns the spec of the pods that an object makes; nil where it makes none.
func (o *object) podSpec() *manifest.Node {
	path := podSpec(o.GroupKind())
	if path == nil {
		return nil
	}
	return o.below(path...)
}

// templateMetadata returns the metadata of the pod template of a workload; nil where it has none.
func (o *object) templateMetadata() *manifest.Node {
	path := podSpec(o.GroupKind())
	if len(path) < 2 {
		return nil
	}
	return o.below(append(slices.Clone(path[:len(path)-1]), "metadata")...)
}

func (o *object) below(keys ...string) *manifest.Node {
	n := o.Node
	for _, k := range keys {
		n = n.Get(k)
	}
	return n
}
