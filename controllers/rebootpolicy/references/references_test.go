// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

const (
	configMap = autorebootv1.SourceConfigMap
	secret    = autorebootv1.SourceSecret
)

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func secretEnv(name, key string, optional *bool) corev1.EnvVar {
	return corev1.EnvVar{Name: "X", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named(name), Key: key, Optional: optional}}}
}

func configEnv(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "X", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named(name), Key: key}}}
}

func secretVolume(name string, optional *bool, keys ...string) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: name, Optional: optional}
	for _, key := range keys {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: source}}
}

func classVolume(driver, class string) corev1.Volume {
	return corev1.Volume{VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver, VolumeAttributes: map[string]string{"secretProviderClass": class}}}}
}

func TestOf(t *testing.T) {
	yes, no := true, false
	always := corev1.ContainerRestartPolicyAlways
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want []references.Reference
	}{
		"a template that refers to nothing": {want: []references.Reference{}},
		"an environment variable uses one key": {
			spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "plain", Value: "x"}, configEnv("c", "k"), secretEnv("s", "k", nil)}}}},
			want: []references.Reference{{Kind: configMap, Name: "c", Keys: []string{"k"}, RequiredKeys: []string{"k"}}, {Kind: secret, Name: "s", Keys: []string{"k"}, RequiredKeys: []string{"k"}}},
		},
		"variables of several containers join, each key once and in order": {
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Env: []corev1.EnvVar{secretEnv("s", "z", nil)}}, {RestartPolicy: &always, Env: []corev1.EnvVar{secretEnv("s", "m", nil)}}},
				Containers:     []corev1.Container{{Env: []corev1.EnvVar{secretEnv("s", "a", nil), secretEnv("s", "z", nil)}}},
			},
			want: []references.Reference{{Kind: secret, Name: "s", Keys: []string{"a", "m", "z"}, RequiredKeys: []string{"a", "m", "z"}}},
		},
		"a whole environment wins over a key, whichever comes first": {
			spec: corev1.PodSpec{Containers: []corev1.Container{
				{Env: []corev1.EnvVar{secretEnv("a", "k", nil)}, EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("a")}}}},
				{EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("b")}}}},
				{Env: []corev1.EnvVar{configEnv("b", "k")}},
			}},
			want: []references.Reference{{Kind: configMap, Name: "b", RequiredKeys: []string{"k"}}, {Kind: secret, Name: "a", RequiredKeys: []string{"k"}}},
		},
		"a volume uses all keys, or those of its items": {
			spec: corev1.PodSpec{Volumes: []corev1.Volume{
				secretVolume("all", nil), secretVolume("some", nil, "b", "a"),
				{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("c"), Items: []corev1.KeyToPath{{Key: "x", Path: "y"}}}}},
			}},
			want: []references.Reference{{Kind: configMap, Name: "c", Keys: []string{"x"}, RequiredKeys: []string{"x"}}, {Kind: secret, Name: "all"},
				{Kind: secret, Name: "some", Keys: []string{"a", "b"}, RequiredKeys: []string{"a", "b"}}},
		},
		"a projected volume refers to each of its sources": {
			spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: named("s"), Items: []corev1.KeyToPath{{Key: "k"}}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("c"), Optional: &yes}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				{DownwardAPI: &corev1.DownwardAPIProjection{}},
			}}}}}},
			want: []references.Reference{{Kind: configMap, Name: "c", Optional: true}, {Kind: secret, Name: "s", Keys: []string{"k"}, RequiredKeys: []string{"k"}}},
		},
		"optional only where every place says so": {
			spec: corev1.PodSpec{Volumes: []corev1.Volume{
				secretVolume("both", &yes), secretVolume("both", &yes, "k"),
				secretVolume("once", &yes), secretVolume("once", &no),
				secretVolume("silent", nil), secretVolume("silent", &yes),
			}},
			want: []references.Reference{{Kind: secret, Name: "both", Optional: true}, {Kind: secret, Name: "once"}, {Kind: secret, Name: "silent"}},
		},
		"a key is required where one place says so": {
			spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{secretEnv("s", "may", &yes), secretEnv("s", "must", nil), secretEnv("s", "once", &yes), secretEnv("s", "once", &no)}}}},
			want: []references.Reference{{Kind: secret, Name: "s", Keys: []string{"may", "must", "once"}, RequiredKeys: []string{"must", "once"}}},
		},
		"a ConfigMap and a Secret of the same name are two": {
			spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{configEnv("same", "a"), secretEnv("same", "b", &yes)}}}},
			want: []references.Reference{{Kind: configMap, Name: "same", Keys: []string{"a"}, RequiredKeys: []string{"a"}}, {Kind: secret, Name: "same", Keys: []string{"b"}, Optional: true}},
		},
		"a volume of the Secrets Store CSI driver refers to a class": {
			spec: corev1.PodSpec{Volumes: []corev1.Volume{
				classVolume("secrets-store.csi.k8s.io", "vault"), classVolume("secrets-store.csi.k8s.io", "vault"), classVolume("other.csi.k8s.io", "other"),
				classVolume("secrets-store.csi.k8s.io", ""), classVolume("secrets-store.csi.k8s.io", "a/b"), classVolume("secrets-store.csi.k8s.io", strings.Repeat("a", 300)),
			}},
			want: []references.Reference{{Kind: "SecretProviderClass", Name: "vault"}},
		},
		"what pulls images does not count": {
			spec: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{named("pull")}},
			want: []references.Reference{},
		},
		"a reference without a name is none": {
			spec: corev1.PodSpec{Volumes: []corev1.Volume{secretVolume("", nil)}, Containers: []corev1.Container{{Env: []corev1.EnvVar{configEnv("", "k")}}}},
			want: []references.Reference{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := (&corev1.PodTemplateSpec{Spec: c.spec}).DeepCopy()
			template := before.DeepCopy()
			if diff := cmp.Diff(c.want, references.Of(template), withoutPlaces); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, template); diff != "" {
				t.Errorf("the template was changed: %s", diff)
			}
		})
	}
}

var withoutPlaces = cmpopts.IgnoreFields(references.Reference{}, "In")

// Other projects look at some of the places alone.
func TestEachPlaceOfAReferenceIsTold(t *testing.T) {
	mounts := func(names ...string) (all []corev1.VolumeMount) {
		for _, name := range names {
			all = append(all, corev1.VolumeMount{Name: name})
		}
		return all
	}
	share := corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "login"}}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Env: []corev1.EnvVar{secretEnv("init", "k", nil), secretEnv("both", "k", nil)}, VolumeMounts: mounts("early")}},
		Containers:     []corev1.Container{{Env: []corev1.EnvVar{secretEnv("both", "k", nil)}, VolumeMounts: mounts("late", "share")}},
		Volumes:        []corev1.Volume{secretVolume("early", nil), secretVolume("late", nil), secretVolume("left", nil), {Name: "share", VolumeSource: share}},
	}}
	want := map[string]rules.Place{"init": rules.InInitEnv, "both": rules.InEnv | rules.InInitEnv, "early": rules.InMount, "late": rules.InMount,
		"left": rules.InVolume, "login": rules.InCredentials}
	got := map[string]rules.Place{}
	for _, ref := range references.Of(template) {
		got[ref.Name] = ref.In
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
