// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// Reference is a ConfigMap or Secret of the pod's namespace, once for all the places that name it.
type Reference struct {
	Kind autorebootv1.SourceKind
	Name string
	// Keys that are used, each once and in order; nil for all of them.
	Keys []string
	// Optional says that pods start without it, in every place.
	Optional bool
}

// Of returns what the template refers to, ordered by kind and name.
func Of(template *corev1.PodTemplateSpec) []Reference {
	found := collector{}
	spec := &template.Spec
	for i := range spec.InitContainers {
		found.addContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		found.addContainer(&spec.Containers[i])
	}
	for i := range spec.Volumes {
		found.addVolume(&spec.Volumes[i].VolumeSource)
	}
	return found.sorted()
}

type id struct {
	kind autorebootv1.SourceKind
	name string
}

// collector gathers references.
type collector map[id]*Reference

// addAll notes that every key of an object is used.
func (f collector) addAll(kind autorebootv1.SourceKind, name string, optional *bool) {
	if r := f.reference(kind, name, optional); r != nil {
		r.Keys = nil
	}
}

// addKeys notes that some keys of an object are used.
func (f collector) addKeys(kind autorebootv1.SourceKind, name string, optional *bool, keys ...string) {
	_, known := f[id{kind, name}]
	r := f.reference(kind, name, optional)
	if r == nil || known && r.Keys == nil {
		return
	}
	r.Keys = append(r.Keys, keys...)
}

// reference finds or makes a reference; nil is one to nothing.
func (f collector) reference(kind autorebootv1.SourceKind, name string, optional *bool) *Reference {
	if name == "" { // the API lets it pass, and the kubelet does not
		return nil
	}
	may := optional != nil && *optional
	r := f[id{kind, name}]
	if r == nil {
		r = &Reference{Kind: kind, Name: name, Optional: may}
		f[id{kind, name}] = r
	}
	r.Optional = r.Optional && may
	return r
}

func (f collector) sorted() []Reference {
	all := make([]Reference, 0, len(f))
	for _, r := range f {
		slices.Sort(r.Keys)
		r.Keys = slices.Compact(r.Keys)
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}
