// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
)

// Reference is a ConfigMap, Secret or SecretProviderClass of the pod's namespace, once for all the places that name it.
type Reference struct {
	Kind autorebootv1.SourceKind
	Name string
	// Keys that are used, each once and in order; nil for all of them.
	Keys []string
	// Optional means that pods start without it, in every place.
	Optional bool
	// RequiredKeys are those without which no pod starts, each once and in order.
	RequiredKeys []string
	// In has the places that name it.
	In rules.Place
}

// Source returns the name of what is referred to.
func (r *Reference) Source() rules.SourceName { return rules.SourceName{Kind: r.Kind, Name: r.Name} }

// Of returns what the template refers to, ordered by kind and name.
func Of(template *corev1.PodTemplateSpec) []Reference {
	found := collector{references: map[rules.SourceName]*Reference{}}
	spec, mounted := &template.Spec, map[string]bool{}
	add := func(containers []corev1.Container, in rules.Place) {
		found.in = in
		for i := range containers {
			found.addContainer(&containers[i])
			for j := range containers[i].VolumeMounts {
				mounted[containers[i].VolumeMounts[j].Name] = true
			}
		}
	}
	add(spec.InitContainers, rules.InInitEnv)
	add(spec.Containers, rules.InEnv)
	for i := range spec.Volumes {
		if found.in = rules.InVolume; mounted[spec.Volumes[i].Name] {
			found.in = rules.InMount
		}
		found.addVolume(&spec.Volumes[i].VolumeSource)
	}
	return found.sorted()
}

// collector gathers references, which are in one place at a time.
type collector struct {
	references map[rules.SourceName]*Reference
	in         rules.Place
}

// addAll notes that every key of an object is used.
func (f *collector) addAll(kind autorebootv1.SourceKind, name string, optional *bool) {
	if r := f.reference(kind, name, optional); r != nil {
		r.Keys = nil
	}
}

// addKeys notes that some keys of an object are used.
func (f *collector) addKeys(kind autorebootv1.SourceKind, name string, optional *bool, keys ...string) {
	_, known := f.references[rules.SourceName{Kind: kind, Name: name}]
	r := f.reference(kind, name, optional)
	if r == nil {
		return
	}
	if optional == nil || !*optional {
		r.RequiredKeys = append(r.RequiredKeys, keys...)
	}
	if !known || r.Keys != nil {
		r.Keys = append(r.Keys, keys...)
	}
}

// reference finds or makes a reference; nil is one to nothing.
func (f *collector) reference(kind autorebootv1.SourceKind, name string, optional *bool) *Reference {
	if name == "" { // the API lets it pass, and the kubelet does not
		return nil
	}
	may := optional != nil && *optional
	id := rules.SourceName{Kind: kind, Name: name}
	r := f.references[id]
	if r == nil {
		r = &Reference{Kind: kind, Name: name, Optional: may}
		f.references[id] = r
	}
	r.Optional, r.In = r.Optional && may, r.In|f.in
	return r
}

func (f *collector) sorted() []Reference {
	all := make([]Reference, 0, len(f.references))
	for _, r := range f.references {
		slices.Sort(r.Keys)
		slices.Sort(r.RequiredKeys)
		r.Keys, r.RequiredKeys = slices.Compact(r.Keys), slices.Compact(r.RequiredKeys)
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

const (
	configMap = autorebootv1.SourceConfigMap
	secret    = autorebootv1.SourceSecret
	class     = autorebootv1.SourceSecretProviderClass
)

func (f *collector) addContainer(c *corev1.Container) {
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if ref := from.ConfigMapKeyRef; ref != nil {
			f.addKeys(configMap, ref.Name, ref.Optional, ref.Key)
		}
		if ref := from.SecretKeyRef; ref != nil {
			f.addKeys(secret, ref.Name, ref.Optional, ref.Key)
		}
	}
	for i := range c.EnvFrom {
		if ref := c.EnvFrom[i].ConfigMapRef; ref != nil {
			f.addAll(configMap, ref.Name, ref.Optional)
		}
		if ref := c.EnvFrom[i].SecretRef; ref != nil {
			f.addAll(secret, ref.Name, ref.Optional)
		}
	}
}

func (f *collector) addVolume(v *corev1.VolumeSource) {
	if v.ConfigMap != nil {
		f.addItems(configMap, v.ConfigMap.Name, v.ConfigMap.Optional, v.ConfigMap.Items)
	}
	if v.Secret != nil {
		f.addItems(secret, v.Secret.SecretName, v.Secret.Optional, v.Secret.Items)
	}
	if v.Projected != nil {
		for i := range v.Projected.Sources {
			f.addProjection(&v.Projected.Sources[i])
		}
	}
	// The attributes of a volume are not validated, and the driver finds no class by a name that is none.
	if v.CSI != nil && v.CSI.Driver == secretsstore.Driver {
		if name := v.CSI.VolumeAttributes[secretsstore.ClassAttribute]; len(validation.IsDNS1123Subdomain(name)) == 0 {
			f.addAll(class, name, nil)
		}
	}
	f.addCredentials(v)
}

func (f *collector) addProjection(p *corev1.VolumeProjection) {
	if p.ConfigMap != nil {
		f.addItems(configMap, p.ConfigMap.Name, p.ConfigMap.Optional, p.ConfigMap.Items)
	}
	if p.Secret != nil {
		f.addItems(secret, p.Secret.Name, p.Secret.Optional, p.Secret.Items)
	}
}

// addItems notes the keys that a volume shows, which are all where none is listed.
func (f *collector) addItems(kind autorebootv1.SourceKind, name string, optional *bool, items []corev1.KeyToPath) {
	if len(items) == 0 {
		f.addAll(kind, name, optional)
		return
	}
	keys := make([]string, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	f.addKeys(kind, name, optional, keys...)
}

// addCredentials notes the Secrets with which volumes are mounted.
func (f *collector) addCredentials(v *corev1.VolumeSource) {
	f.in = rules.InCredentials
	if v.AzureFile != nil {
		f.addAll(secret, v.AzureFile.SecretName, nil)
	}
	var refs []*corev1.LocalObjectReference
	if v.CephFS != nil {
		refs = append(refs, v.CephFS.SecretRef)
	}
	if v.Cinder != nil {
		refs = append(refs, v.Cinder.SecretRef)
	}
	if v.CSI != nil {
		refs = append(refs, v.CSI.NodePublishSecretRef)
	}
	if v.FlexVolume != nil {
		refs = append(refs, v.FlexVolume.SecretRef)
	}
	if v.ISCSI != nil {
		refs = append(refs, v.ISCSI.SecretRef)
	}
	if v.RBD != nil {
		refs = append(refs, v.RBD.SecretRef)
	}
	if v.ScaleIO != nil {
		refs = append(refs, v.ScaleIO.SecretRef)
	}
	if v.StorageOS != nil {
		refs = append(refs, v.StorageOS.SecretRef)
	}
	for _, ref := range refs {
		if ref != nil {
			f.addAll(secret, ref.Name, nil)
		}
	}
}
