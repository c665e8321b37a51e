// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	corev1 "k8s.io/api/core/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

const (
	configMap = autorebootv1.SourceConfigMap
	secret    = autorebootv1.SourceSecret
)

func (f collector) addContainer(c *corev1.Container) {
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

func (f collector) addVolume(v *corev1.VolumeSource) {
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
	f.addCredentials(v)
}

func (f collector) addProjection(p *corev1.VolumeProjection) {
	if p.ConfigMap != nil {
		f.addItems(configMap, p.ConfigMap.Name, p.ConfigMap.Optional, p.ConfigMap.Items)
	}
	if p.Secret != nil {
		f.addItems(secret, p.Secret.Name, p.Secret.Optional, p.Secret.Items)
	}
}

// addItems notes the keys that a volume shows, which are all where none is listed.
func (f collector) addItems(kind autorebootv1.SourceKind, name string, optional *bool, items []corev1.KeyToPath) {
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
func (f collector) addCredentials(v *corev1.VolumeSource) {
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
