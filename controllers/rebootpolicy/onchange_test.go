// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// annotated is a Deployment of one pod that takes all of Secret creds and ConfigMap app.
func annotated(name string, annotations map[string]string) []client.Object {
	objects := deployment(name, 1, map[string]string{"part": "shop"})
	d := objects[0].(*appsv1.Deployment)
	d.Annotations = annotations
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "one", EnvFrom: []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "creds"}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}},
	}}}
	return objects
}

// wanted returns what is observed, as kind/name, with keys and "-" and excluded keys.
func (s *suite) wanted() string {
	var all []string
	for i := range s.content.wants {
		w := &s.content.wants[i]
		all = append(all, nameOf(w)+strings.Join(w.Keys, ",")+strings.TrimPrefix("-"+strings.Join(w.ExcludedKeys, ","), "-"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

const onChange = `
targets: [{selector: {matchLabels: {part: shop}}, optIn: Annotation}]
triggers: [{name: config, type: ConfigChange}]
debounce: {quietPeriod: 0s}
verification: {soak: 10s}
`

func TestOnlyWorkloadsThatAskAreTargetsWhereTheTargetSaysSo(t *testing.T) {
	var objects []client.Object
	for name, value := range map[string]string{"asks": "true", "names": "secret/extra", "refuses": "false", "silent": ""} {
		annotations := map[string]string{common.RestartOnChangeAnnotation: value}
		if value == "" {
			annotations = nil
		}
		objects = append(objects, annotated(name, annotations)...)
	}
	objects = append(objects, annotated("ignored", map[string]string{common.RestartOnChangeAnnotation: "true", common.IgnoreAnnotation: "true"})...)
	s := newSuite(t, onChange, objects...)
	if got := names(s.observe().workloads); got != "0 asks, 0 names" {
		t.Errorf("targets by annotation: %s", got)
	}
	if got := s.wanted(); got != "ConfigMap/app Secret/creds Secret/extra" {
		t.Errorf("observed: %s", got)
	}
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.Targets[0].OptIn = nil })
	if got := names(s.observe().workloads); got != "0 asks, 0 names, 0 silent" {
		t.Errorf("all targets: %s", got)
	}
	s.edit(func(p *autorebootv1.RebootPolicy) {
		p.Spec.Targets = []autorebootv1.Target{{Kind: common.WorkloadDeployment, Name: "ignored"}}
	})
	if got := names(s.observe().workloads); got != "0 ignored" {
		t.Errorf("a target that is named: %s", got)
	}
}

// What one workload names must not be a fault of all: it is reported, and the policy is Ready.
func TestWhatAnAnnotationNamesAndIsMissingIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		annotation, value string
		optional          bool
		want              []string
	}{
		"Fairlead":             {common.RestartOnChangeAnnotation, "secret/gone, nonsense", false, []string{"Deployment web: Secret gone, which an annotation names, does not exist", `"nonsense" is not`}},
		"Reloader":             {"secret.reloader.stakater.com/reload", "gone, creds", false, []string{"Deployment web: Secret gone, which an annotation names, does not exist"}},
		"optional":             {"secret.reloader.stakater.com/reload", "gone", true, nil},
		"class":                {"secretproviderclass.reloader.stakater.com/reload", "gone", false, []string{"SecretProviderClass gone, which an annotation names, is mounted by no pod"}},
		"a regular expression": {"secret.reloader.stakater.com/reload", "app-.*", false, []string{`refers to no Secret that matches the regular expression "app-.*": name the sources`}},
	} {
		objects := annotated("web", map[string]string{test.annotation: test.value})
		if container := &objects[0].(*appsv1.Deployment).Spec.Template.Spec.Containers[0]; test.optional {
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}, Optional: ptr.To(true),
			}})
		}
		s := newSuite(t, onChange, objects...)
		s.edit(func(p *autorebootv1.RebootPolicy) {
			if name != "Fairlead" {
				p.Spec.Compatibility = autorebootv1.CompatibilityReloader
			}
		})
		s.reconcile()
		s.expectCondition(autorebootv1.ConditionReady, "True Watching")
		message := readyMessage(s)
		for _, want := range test.want {
			if !strings.Contains(message, want) {
				t.Errorf("%s: the message is %q, want %q", name, message, want)
			}
		}
		if len(test.want) == 0 && strings.Contains(message, "gone") {
			t.Errorf("%s: the message is %q", name, message)
		}
	}
	s := newSuite(t, onChange, annotated("web", nil)...)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionReady, "False TargetNotFound")
	if message := readyMessage(s); !strings.Contains(message, common.RestartOnChangeAnnotation) {
		t.Errorf("the message is %q", message)
	}
}

func readyMessage(s *suite) string {
	for _, c := range s.object().Status.Conditions {
		if c.Type == autorebootv1.ConditionReady {
			return c.Message
		}
	}
	return ""
}

// While a source is ignored its changes are owed to no workload, also not later, whether it is the only source or one of two.
func TestAChangeOfASourceThatIsIgnoredIsNeverOwed(t *testing.T) {
	for _, only := range []bool{true, false} {
		for name, test := range map[string]struct {
			compatibility autorebootv1.Compatibility
			annotations   map[string]string
			ignored, not  rules.Marks
		}{
			"Fairlead": {annotations: map[string]string{common.RestartOnChangeAnnotation: "true"}, ignored: rules.Marks{Ignore: true}},
			"Reloader": {compatibility: autorebootv1.CompatibilityReloader, annotations: map[string]string{"reloader.stakater.com/auto": "true"},
				ignored: rules.Marks{ReloaderIgnore: true}},
			"Reloader, named": {compatibility: autorebootv1.CompatibilityReloader, annotations: map[string]string{"secret.reloader.stakater.com/reload": "creds", "configmap.reloader.stakater.com/reload": "app"},
				ignored: rules.Marks{ReloaderIgnore: true}},
			"Reloader's search": {compatibility: autorebootv1.CompatibilityReloader, annotations: map[string]string{"reloader.stakater.com/search": "true"},
				not: rules.Marks{ReloaderMatch: true}},
		} {
			t.Run(fmt.Sprintf("%s, the only one: %t", name, only), func(t *testing.T) {
				s := newSuite(t, onChange, append(annotated("web", test.annotations),
					&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "creds"}},
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}})...)
				s.edit(func(p *autorebootv1.RebootPolicy) {
					p.Spec.Compatibility = test.compatibility
					if only {
						p.Spec.Triggers[0].ConfigChange = &autorebootv1.ConfigChange{
							Exclude: []autorebootv1.ExcludedSource{{Kind: autorebootv1.SourceConfigMap, Name: "app"}},
						}
					}
				})
				set := func(fingerprint string, marks rules.Marks) {
					s.content.states["ConfigMap/app"] = sources.State{Fingerprint: "hmac:app", Written: epoch.Add(-time.Hour), Marks: rules.Marks{ReloaderMatch: true}}
					s.content.states["Secret/creds"] = sources.State{Fingerprint: fingerprint, Written: s.now, Marks: marks}
					s.reconcile()
					s.advance(time.Minute)
					s.reconcile()
				}
				set("hmac:1", test.ignored)
				set("hmac:2", test.ignored)
				set("hmac:2", test.not)
				s.expectActions()
				set("hmac:3", test.not)
				if len(s.doer.done) != 1 {
					t.Errorf("a change that counts again: %q", s.doer.done)
				}
			})
		}
	}
}

// A target without optIn is what --auto-reload-all is: annotations of a kind then take nothing away from the other kinds.
func TestATargetThatTakesAllIsReloadersAutoReloadAll(t *testing.T) {
	for annotations, want := range map[string]string{
		"": "ConfigMap/app Secret/creds", "secret.reloader.stakater.com/auto=true": "ConfigMap/app Secret/creds",
		"secret.reloader.stakater.com/reload=extra":                                  "ConfigMap/app Secret/creds Secret/extra",
		"secret.reloader.stakater.com/auto=false":                                    "ConfigMap/app",
		"reloader.stakater.com/auto=false secret.reloader.stakater.com/reload=extra": "Secret/extra",
		"reloader.stakater.com/search=true":                                          "ConfigMap/app Secret/creds",
		"configmaps.exclude.reloader.stakater.com/reload=app":                        "Secret/creds",
		"deployment.reloader.stakater.com/pause-period=5m":                           "ConfigMap/app Secret/creds",
	} {
		found := map[string]string{}
		for _, one := range strings.Fields(annotations) {
			name, value, _ := strings.Cut(one, "=")
			found[name] = value
		}
		s := newSuite(t, onChange, annotated("web", found)...)
		s.edit(func(p *autorebootv1.RebootPolicy) {
			p.Spec.Compatibility, p.Spec.Targets[0].OptIn = autorebootv1.CompatibilityReloader, nil
		})
		o := s.observe()
		if got := s.wanted(); got != want {
			t.Errorf("%s: observed %s, want %s", annotations, got, want)
		}
		if pause := o.workloads[0].Pause; strings.Contains(annotations, "pause") != (pause == 5*time.Minute) {
			t.Errorf("%s: a pause of %s", annotations, pause)
		}
	}
}

func TestWhatIsExcludedIsNotObserved(t *testing.T) {
	s := newSuite(t, onChange, annotated("web", map[string]string{common.RestartOnChangeAnnotation: "true"})...)
	s.content.selected = map[string][]string{"": {"creds", "app"}}
	for _, test := range []struct{ exclude, want string }{
		{"", "ConfigMap/app Secret/creds"},
		{"{kind: Secret, name: creds}", "ConfigMap/app"},
		{"{kind: ConfigMap, name: creds}", "ConfigMap/app Secret/creds"},
		{"{kind: Secret, name: creds, keys: [b, a]}", "ConfigMap/app Secret/credsa,b"},
		{"{kind: Secret, name: creds, keys: [b]}, {kind: Secret, name: creds}", "ConfigMap/app"},
		{"{kind: Secret, selector: {}}", "ConfigMap/app"},
		{"{kind: Secret, selector: {}, keys: [a]}", "ConfigMap/app Secret/credsa"},
	} {
		s.edit(func(p *autorebootv1.RebootPolicy) {
			c := &autorebootv1.ConfigChange{}
			s.must(yaml.UnmarshalStrict([]byte("exclude: ["+test.exclude+"]"), c))
			p.Spec.Triggers[0].ConfigChange = c
		})
		s.observe()
		if got := s.wanted(); got != test.want {
			t.Errorf("without %s: observed %s, want %s", test.exclude, got, test.want)
		}
	}
	s.content.err = fmt.Errorf("refused")
	if o := s.observe(); s.wanted() != "ConfigMap/app" || len(o.problems) == 0 {
		t.Errorf("a selector that cannot be evaluated: observed %s, %v", s.wanted(), o.problems)
	}
}
