// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The annotations of a workload choose the changes that restart it: here for a template that refers to ConfigMaps a and b and
// to Secrets a and b. reloader_test.go has the annotations of Reloader.
func TestTheAnnotationsOfAWorkloadSayWhatItIsRestartedFor(t *testing.T) {
	const reloader, wave = autorebootv1.CompatibilityReloader, autorebootv1.CompatibilityWave
	own, ignore := common.RestartOnChangeAnnotation, common.IgnoreAnnotation
	for name, test := range map[string]struct {
		compatibility      autorebootv1.Compatibility
		workload, template map[string]string
		in, out            bool
		counts, names      string
		mistake            string
	}{
		"nothing":                            {counts: "configmap/a configmap/b secret/a secret/b"},
		"true":                               {workload: map[string]string{own: "true"}, in: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"false":                              {workload: map[string]string{own: "false"}, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"ignored":                            {workload: map[string]string{ignore: "true"}, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"ignored, and asks":                  {workload: map[string]string{ignore: "true", own: "true"}, in: true, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"names":                              {workload: map[string]string{own: "configmap/a, secret/z"}, in: true, counts: "configmap/a", names: "configmap/a secret/z"},
		"names nothing":                      {workload: map[string]string{own: ""}, in: true, mistake: `"" is not "true", "false"`},
		"another word":                       {workload: map[string]string{own: "yes"}, in: true, mistake: `"yes" is not`},
		"another kind":                       {workload: map[string]string{own: "deployment/a,secret/a"}, in: true, counts: "secret/a", names: "secret/a", mistake: `"deployment/a" is not`},
		"a name that cannot be":              {workload: map[string]string{own: "secret/A_"}, in: true, mistake: `"secret/A_" is not`},
		"too long":                           {workload: map[string]string{own: strings.Repeat("secret/a,", 1000)}, in: true, mistake: "has 9000 bytes"},
		"too many":                           {workload: map[string]string{own: strings.Repeat("secret/a,", 65)}, in: true, counts: "secret/a", names: strings.TrimSpace(strings.Repeat("secret/a ", 64)), mistake: "more than 64"},
		"not on the template":                {template: map[string]string{own: "true"}, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader's do not count by default": {workload: map[string]string{"reloader.stakater.com/auto": "true"}, counts: "configmap/a configmap/b secret/a secret/b"},

		"both dialects": {compatibility: reloader, workload: map[string]string{own: "secret/a", "reloader.stakater.com/auto": "true"}, in: true, counts: "secret/a", names: "secret/a", mistake: "overrides those of Reloader"},

		"Wave":                          {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true"}, in: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"Wave: more":                    {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "z", "wave.pusher.com/extra-configmaps": "y"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", names: "configmap/y secret/z"},
		"Wave: of another namespace":    {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "other/z"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", mistake: `"other/z" is not`},
		"Wave: two mistakes":            {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-configmaps": "/", "wave.pusher.com/extra-secrets": "other/z"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", mistake: `not watched; annotation wave.pusher.com/extra-secrets: "other/z" is not`},
		"Wave: of its own namespace":    {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "shop/z"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", names: "secret/z"},
		"Wave: a name with a blank":     {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "y, z"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", names: "secret/y", mistake: `"z" is not the name`},
		"Wave: more without the switch": {compatibility: wave, workload: map[string]string{"wave.pusher.com/extra-secrets": "z"}, counts: "configmap/a configmap/b secret/a secret/b"},
	} {
		t.Run(name, func(t *testing.T) {
			for annotation := range test.workload {
				if !slices.Contains(OnChangeAnnotations(), annotation) {
					t.Errorf("OnChangeAnnotations lacks %s", annotation)
				}
			}
			o := OnChangeOf(test.compatibility, &Workload{Kind: common.WorkloadDeployment, Namespace: "shop", Annotations: test.workload, TemplateAnnotations: test.template})
			if o.OptedIn != test.in || o.OptedOut != test.out {
				t.Errorf("opted in %t, out %t; want %t, %t", o.OptedIn, o.OptedOut, test.in, test.out)
			}
			var counts, names []string
			for _, source := range []SourceName{{configMap, "a"}, {configMap, "b"}, {secret, "a"}, {secret, "b"}} {
				if o.ClaimTo(source, InEnv, true) != NoClaim {
					counts = append(counts, strings.ToLower(fmt.Sprintf("%s/%s", source.Kind, source.Name)))
				}
			}
			for _, source := range o.Names() {
				names = append(names, strings.ToLower(fmt.Sprintf("%s/%s", source.Kind, source.Name)))
			}
			if got := strings.Join(counts, " "); got != test.counts {
				t.Errorf("of the references %q count, want %q", got, test.counts)
			}
			if got := strings.Join(names, " "); got != test.names {
				t.Errorf("%q count besides, want %q", got, test.names)
			}
			if mistakes := strings.Join(o.Mistakes, "; "); (test.mistake == "") != (mistakes == "") || !strings.Contains(mistakes, test.mistake) {
				t.Errorf("the mistakes are %q, want %q", mistakes, test.mistake)
			}
			all, annotated := &autorebootv1.Target{}, &autorebootv1.Target{OptIn: ptr.To(autorebootv1.OptInAnnotation)}
			if o.Selects(all) != !test.out || o.Selects(annotated) != (test.in && !test.out) {
				t.Errorf("selected by all: %t, by annotation: %t", o.Selects(all), o.Selects(annotated))
			}
		})
	}
}

// Wave watches no SecretProviderClasses, and reads no init containers and no credentials of volumes.
func TestOfAPodTemplateThatCountsWhichTheOtherProjectLooksAt(t *testing.T) {
	update := map[string]string{"wave.pusher.com/update-on-config-change": "true"}
	for place, want := range map[Place]bool{InEnv: true, InInitEnv: false, InMount: true, InVolume: true, InCredentials: false, InEnv | InInitEnv: true} {
		asks, silent := OnChangeOf(autorebootv1.CompatibilityWave, &Workload{Annotations: update}), OnChangeOf(autorebootv1.CompatibilityWave, &Workload{})
		own := OnChangeOf(autorebootv1.CompatibilityWave, &Workload{Annotations: map[string]string{common.RestartOnChangeAnnotation: "true"}})
		if got := asks.ClaimTo(SourceName{secret, "a"}, place, false) == Found; got != want {
			t.Errorf("place %b: %t, want %t", place, got, want)
		}
		if silent.ClaimTo(SourceName{secret, "a"}, place, true) != Found || own.ClaimTo(SourceName{class, "a"}, place, false) != Found {
			t.Errorf("place %b: without an annotation of Wave it does not count", place)
		}
	}
	o := OnChangeOf(autorebootv1.CompatibilityWave, &Workload{Annotations: update})
	if o.ClaimTo(SourceName{class, "a"}, InMount, true) != NoClaim {
		t.Error("a SecretProviderClass counts")
	}
	o = OnChangeOf("", &Workload{Annotations: map[string]string{common.RestartOnChangeAnnotation: "secretproviderclass/vault"}})
	if o.ClaimTo(SourceName{class, "vault"}, InMount, false) != Named || len(o.Names()) != 1 {
		t.Errorf("the names are %v", o.Names())
	}
}
