// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// What a workload is restarted for is told by its annotations: here for a template that refers to ConfigMaps a and b and to
// Secrets a and b. "a?" counts only with Reloader's annotation on the source.
func TestTheAnnotationsOfAWorkloadSayWhatItIsRestartedFor(t *testing.T) {
	const reloader, wave = autorebootv1.CompatibilityReloader, autorebootv1.CompatibilityWave
	own, ignore := common.RestartOnChangeAnnotation, common.IgnoreAnnotation
	for name, test := range map[string]struct {
		compatibility      autorebootv1.Compatibility
		workload, template map[string]string
		in, out            bool
		counts, names      string
		mistake            string
		pause              time.Duration
	}{
		"nothing":                            {counts: "configmap/a configmap/b secret/a secret/b"},
		"true":                               {workload: map[string]string{own: "true"}, in: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"false":                              {workload: map[string]string{own: "false"}, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"ignored":                            {workload: map[string]string{ignore: "true"}, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"ignored, and asks":                  {workload: map[string]string{ignore: "true", own: "true"}, in: true, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"names":                              {workload: map[string]string{own: "configmap/a, secret/z"}, in: true, names: "configmap/a secret/z"},
		"names nothing":                      {workload: map[string]string{own: ""}, in: true, mistake: `"" is not "true", "false"`},
		"another word":                       {workload: map[string]string{own: "yes"}, in: true, mistake: `"yes" is not`},
		"another kind":                       {workload: map[string]string{own: "deployment/a,secret/a"}, in: true, names: "secret/a", mistake: `"deployment/a" is not`},
		"a name that cannot be":              {workload: map[string]string{own: "secret/A_"}, in: true, mistake: `"secret/A_" is not`},
		"too long":                           {workload: map[string]string{own: strings.Repeat("secret/a,", 1000)}, in: true, mistake: "has 9000 bytes"},
		"too many":                           {workload: map[string]string{own: strings.Repeat("secret/a,", 65)}, in: true, names: strings.TrimSpace(strings.Repeat("secret/a ", 64)), mistake: "more than 64"},
		"not on the template":                {template: map[string]string{own: "true"}, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader's do not count by default": {workload: map[string]string{"reloader.stakater.com/auto": "true"}, counts: "configmap/a configmap/b secret/a secret/b"},

		"Reloader: none":                {compatibility: reloader, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader: auto":                {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "true"}, in: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader: not auto":            {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "false"}, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader: not auto, but named": {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "false", "secret.reloader.stakater.com/reload": "a"}, in: true, names: "secret/a"},
		"Reloader: ConfigMaps":          {compatibility: reloader, workload: map[string]string{"configmap.reloader.stakater.com/auto": "true"}, in: true, counts: "configmap/a configmap/b"},
		"Reloader: Secrets":             {compatibility: reloader, workload: map[string]string{"secret.reloader.stakater.com/auto": "1"}, in: true, counts: "secret/a secret/b"},
		"Reloader: search":              {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/search": "true"}, in: true, counts: "configmap/a? configmap/b? secret/a? secret/b?"},
		"Reloader: search and Secrets":  {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/search": "true", "secret.reloader.stakater.com/auto": "true"}, in: true, counts: "configmap/a? configmap/b? secret/a secret/b"},
		"Reloader: names":               {compatibility: reloader, workload: map[string]string{"configmap.reloader.stakater.com/reload": "a,z", "secret.reloader.stakater.com/reload": "y"}, in: true, names: "configmap/a configmap/z secret/y"},
		"Reloader: a pattern":           {compatibility: reloader, workload: map[string]string{"secret.reloader.stakater.com/reload": "[ac]"}, in: true, counts: "secret/a"},
		"Reloader: no pattern":          {compatibility: reloader, workload: map[string]string{"secret.reloader.stakater.com/reload": "("}, in: true, mistake: `"(" is not the name of a Secret, or one of at most 16 regular expressions`},
		"Reloader: except":              {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "true", "secrets.exclude.reloader.stakater.com/reload": "a", "configmaps.exclude.reloader.stakater.com/reload": " b "}, in: true, counts: "configmap/a secret/b"},
		"Reloader: a pause":             {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "true", "deployment.reloader.stakater.com/pause-period": "1h5m"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", pause: 65 * time.Minute},
		"Reloader: a pause of a year":   {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "true", "deployment.reloader.stakater.com/pause-period": "8760h"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", pause: maxPause},
		"Reloader: no pause":            {compatibility: reloader, workload: map[string]string{"reloader.stakater.com/auto": "true", "deployment.reloader.stakater.com/pause-period": "-5m"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", mistake: `"-5m" is no duration such as 5m`},
		"Reloader: a pause alone":       {compatibility: reloader, workload: map[string]string{"deployment.reloader.stakater.com/pause-period": "soon"}, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader: on the template":     {compatibility: reloader, template: map[string]string{"reloader.stakater.com/auto": "true"}, in: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"Reloader: the workload's go before those of the template": {compatibility: reloader, workload: map[string]string{"secret.reloader.stakater.com/auto": "true"}, template: map[string]string{"reloader.stakater.com/auto": "true"}, in: true, counts: "secret/a secret/b"},
		"Reloader: ignored": {compatibility: reloader, workload: map[string]string{ignore: "true", "reloader.stakater.com/auto": "true"}, in: true, out: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"both dialects":     {compatibility: reloader, workload: map[string]string{own: "secret/a", "reloader.stakater.com/auto": "true"}, in: true, names: "secret/a", mistake: "beside those of Reloader"},

		"Wave":                          {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true"}, in: true, counts: "configmap/a configmap/b secret/a secret/b"},
		"Wave: more":                    {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "z", "wave.pusher.com/extra-configmaps": "y"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", names: "configmap/y secret/z"},
		"Wave: of another namespace":    {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": "other/z"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", mistake: `"other/z" is not`},
		"Wave: two mistakes":            {compatibility: wave, workload: map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-configmaps": "/", "wave.pusher.com/extra-secrets": "other/z"}, in: true, counts: "configmap/a configmap/b secret/a secret/b", mistake: `not watched; annotation wave.pusher.com/extra-secrets: "other/z" is not`},
		"Wave: more without the switch": {compatibility: wave, workload: map[string]string{"wave.pusher.com/extra-secrets": "z"}, counts: "configmap/a configmap/b secret/a secret/b"},
	} {
		t.Run(name, func(t *testing.T) {
			for annotation := range test.workload {
				if !slices.Contains(OnChangeAnnotations(), annotation) {
					t.Errorf("OnChangeAnnotations lacks %s", annotation)
				}
			}
			o := OnChangeOf(test.compatibility, test.workload, test.template)
			if o.Pause != test.pause {
				t.Errorf("it pauses for %s, want %s", o.Pause, test.pause)
			}
			if o.OptedIn != test.in || o.OptedOut != test.out {
				t.Errorf("opted in %t, out %t; want %t, %t", o.OptedIn, o.OptedOut, test.in, test.out)
			}
			var counts, names []string
			for _, source := range []SourceName{{configMap, "a"}, {configMap, "b"}, {secret, "a"}, {secret, "b"}} {
				if yes, marked := o.Counts(source); yes {
					counts = append(counts, strings.ToLower(fmt.Sprintf("%s/%s", source.Kind, source.Name))+map[bool]string{true: "?"}[marked])
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

// SecretProviderClasses count as Secrets do, except to Wave, which knows none, and to Reloader's search, for which their
// annotations would have to be read.
func TestTheAnnotationsOfAWorkloadNameSecretProviderClasses(t *testing.T) {
	t.Parallel()
	const reloader, wave = autorebootv1.CompatibilityReloader, autorebootv1.CompatibilityWave
	for name, test := range map[string]struct {
		compatibility autorebootv1.Compatibility
		annotations   map[string]string
		in, counts    bool
		names         int
	}{
		"nothing":           {counts: true},
		"true":              {annotations: map[string]string{common.RestartOnChangeAnnotation: "true"}, in: true, counts: true},
		"named":             {annotations: map[string]string{common.RestartOnChangeAnnotation: "secretproviderclass/vault"}, in: true, names: 1},
		"Reloader: auto":    {reloader, map[string]string{"reloader.stakater.com/auto": "true"}, true, true, 0},
		"Reloader: typed":   {reloader, map[string]string{"secretproviderclass.reloader.stakater.com/auto": "true"}, true, true, 0},
		"Reloader: Secrets": {reloader, map[string]string{"secret.reloader.stakater.com/auto": "true"}, true, false, 0},
		"Reloader: named":   {reloader, map[string]string{"secretproviderclass.reloader.stakater.com/reload": "vault, other"}, true, false, 2},
		"Reloader: pattern": {reloader, map[string]string{"secretproviderclass.reloader.stakater.com/reload": "va.*"}, true, true, 0},
		"Reloader: except":  {reloader, map[string]string{"reloader.stakater.com/auto": "true", "secretproviderclasses.exclude.reloader.stakater.com/reload": "vault"}, true, false, 0},
		"Reloader: search":  {reloader, map[string]string{"reloader.stakater.com/search": "true"}, true, false, 0},
		"Wave":              {wave, map[string]string{"wave.pusher.com/update-on-config-change": "true"}, true, false, 0},
	} {
		o := OnChangeOf(test.compatibility, test.annotations, nil)
		counts, marked := o.Counts(SourceName{class, "vault"})
		if o.OptedIn != test.in || counts != test.counts || marked || len(o.Names()) != test.names || len(o.Mistakes) > 0 {
			t.Errorf("%s: opted in %t, counts %t, names %v, mistakes %q", name, o.OptedIn, counts, o.Names(), o.Mistakes)
		}
	}
}

// The operator compiles the patterns of a workload whenever it reads the workload, and the user who annotates it chooses them.
func TestPatternsThatWouldTakeLongToCompileAreMistakes(t *testing.T) {
	for text, want := range map[string]bool{
		"app-.*": true, "app-[a-z0-9]{63}": true, "(?:blue|green)-(?:db|cache)": true, "app[0-9]+": true,
		`(?i)(\pL{30}){30}`: false, `\pN`: false, "((a{10}){10}){9}": false, "(a|b){500}": false, "[^a-z]{400}": false,
		strings.Repeat("a{30}", 30): false, strings.Repeat("(", 1000): false,
	} {
		o := OnChangeOf(autorebootv1.CompatibilityReloader, map[string]string{"secret.reloader.stakater.com/reload": text}, nil)
		if is := len(o.patterns) == 1 && len(o.Mistakes) == 0; is != want || !o.OptedIn {
			t.Errorf("%.40q: a pattern: %t, want %t; %q", text, is, want, o.Mistakes)
		}
	}
	many := map[string]string{"secret.reloader.stakater.com/reload": strings.Repeat("a.*,", 40) + "b.*", "configmap.reloader.stakater.com/reload": "c.*"}
	if o := OnChangeOf(autorebootv1.CompatibilityReloader, many, nil); len(o.patterns) != maxPatterns || len(o.Mistakes) != 42-maxPatterns {
		t.Errorf("%d patterns, %d mistakes", len(o.patterns), len(o.Mistakes))
	}
}
