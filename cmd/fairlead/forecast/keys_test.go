// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Each workload that takes a changed key of a ConfigMap restarts, for these keys, and no other does, whatever others take of it.
func TestEachWorkloadRestartsForTheKeysThatItTakes(t *testing.T) {
	all := []string{"a", "b", "c"}
	rapid.Check(t, func(r *rapid.T) {
		taken := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, len(all), rapid.ID[string]), 1, 4).Draw(r, "taken")
		changed := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, len(all), rapid.ID[string]).Draw(r, "changed")
		explicit := rapid.SampledFrom([]string{"", ", {name: more, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: ConfigMap, name: settings, keys: [a]}]}}"}).Draw(r, "explicit")
		c := &cluster{objects: []client.Object{policy(t, "payments", `{targets: [{kind: Deployment, selector: {}}], triggers: [{name: config, type: ConfigChange}`+explicit+`]}`)}}
		is := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{}}
		for _, key := range all {
			is.Data[key] = "former"
		}
		will, isRemoved := is.DeepCopy(), rapid.Bool().Draw(r, "removed")
		for _, key := range changed {
			if will.Data[key] = "latter"; isRemoved {
				delete(will.Data, key)
			}
		}
		c.objects = append(c.objects, is)
		want := map[string][]string{}
		for i, keys := range taken {
			name := fmt.Sprintf("web-%d", i)
			d := deployment(name, "")
			container := &d.Spec.Template.Spec.Containers[0]
			container.EnvFrom = nil
			ref := corev1.LocalObjectReference{Name: "settings"}
			for _, key := range keys {
				container.Env = append(container.Env, corev1.EnvVar{Name: key, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: key}}})
			}
			if len(keys) == 0 { // all of them
				container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref}}}
				keys = all
			}
			c.objects = append(c.objects, d)
			for _, key := range changed {
				if slices.Contains(keys, key) {
					want[name] = append(want[name], key)
				}
			}
			slices.Sort(want[name])
		}
		manifest, err := yaml.Marshal(will)
		if err != nil {
			t.Fatal(err)
		}
		f := c.ofManifests(t, string(manifest))
		for i := range taken {
			name := fmt.Sprintf("web-%d", i)
			var got []string
			restarts := false
			for _, restart := range f.Restarts {
				if restart.Name != name {
					continue
				}
				restarts = true
				for _, cause := range restart.Causes {
					if cause.Trigger == "config" {
						got = cause.Keys
					}
				}
			}
			isMore := explicit != "" && slices.Contains(changed, "a")
			if !slices.Equal(got, want[name]) || restarts != (len(want[name]) > 0 || isMore) {
				r.Fatalf("%s takes %v, and %v change: restarts %t for %v: %+v", name, taken[i], changed, restarts, got, f.Restarts)
			}
		}
	})
}

// A policy that is applied with a change restarts for it or not, by which of both is first.
func TestTheOrderOfAPolicyAndAChangeIsSaid(t *testing.T) {
	const source = "{apiVersion: v1, kind: Secret, metadata: {name: db-login}, stringData: {user: other, password: hunter2}}\n"
	const header = "{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: %s}, spec: {targets: [{kind: Deployment, name: %s}], triggers: [%s]}}\n---\n"
	const config = "{name: config, type: ConfigChange}"
	const order = "depends on the order"
	for name, test := range map[string]struct {
		manifests string
		ordered   bool
	}{
		"a new policy":                   {fmt.Sprintf(header, "other", "api", config) + source, true},
		"a new policy of another source": {fmt.Sprintf(header, "other", "web", config) + source, false},
		"another target":                 {fmt.Sprintf(header, "narrow", "api", config) + source, true},
		"another trigger": {fmt.Sprintf(header, "narrow", "web",
			config+", {name: login, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: db-login}]}}") + source, true},
		"the same policy": {fmt.Sprintf(header, "narrow", "web", config) + source, false},
	} {
		c := shop(t)
		c.objects[2] = policy(t, "narrow", `{targets: [{kind: Deployment, name: web}], triggers: [`+config+`]}`)
		if text := said(t, c.ofManifests(t, test.manifests)); strings.Contains(text, order) != test.ordered || test.ordered == strings.Contains(text, "No workload restarts.") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
