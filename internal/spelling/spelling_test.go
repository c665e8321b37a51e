// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var chaosPod = schema.GroupKind{Group: "chaos.fairlead.dev", Kind: "ChaosPod"}

func TestFieldsMoveAsTheTextThatTheyAre(t *testing.T) {
	for name, test := range map[string]struct{ kind, v1alpha1, hub string }{
		"a name": {"ExternalService.networking.fairlead.dev",
			`"spec":{"ports":[],"probe":{"interval":"1.50s","n":1.50}}`, `"spec":{"ports":[],"healthCheck":{"interval":"1.50s","n":1.50}}`},
		"a place":         {"ChaosPod.chaos.fairlead.dev", `"spec":{"count":2,"template":{"x":18446744073709551616}}`, `"spec":{"count":2,"target":{"template":{"x":18446744073709551616}}}`},
		"beside others":   {"ChaosPod.chaos.fairlead.dev", `"spec":{"schedule":{"interval":"1m"},"nextStop":"x"}`, `"spec":{"schedule":{"interval":"1m","at":"x"}}`},
		"null":            {"ChaosPod.chaos.fairlead.dev", `"spec":{"template":null}`, `"spec":{"target":{"template":null}}`},
		"nothing to move": {"ChaosPod.chaos.fairlead.dev", `"spec":{"target":{"workload":{"name":"a"}}},"later":1`, `"spec":{"target":{"workload":{"name":"a"}}},"later":1`},
		"no spec":         {"ChaosPod.chaos.fairlead.dev", `"spec":7`, `"spec":7`},
		"one kind of all": {"ClusterRebootPolicy.autoreboot.fairlead.dev", `"spec":{"template":{"triggers":[]}}`, `"spec":{"template":{"triggers":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			kind := schema.ParseGroupKind(test.kind)
			alpha, hub := `{"apiVersion":"`+kind.Group+`/v1alpha1","metadata":{},`+test.v1alpha1+`}`, `{"apiVersion":"`+kind.Group+`/v1","metadata":{},`+test.hub+`}`
			for _, way := range []struct{ from, want, version string }{{alpha, hub, Hub}, {hub, alpha, V1alpha1}} {
				got, err := tables[kind].Convert([]byte(way.from), kind.Group, way.version)
				if err != nil || string(got) != way.want {
					t.Errorf("%s\nbecame %s, %v,\nwant   %s", way.from, got, err, way.want)
				}
			}
		})
	}
}

func TestAnObjectThatIsLeftEmptyGoes(t *testing.T) {
	for _, hub := range []string{`{"spec":{"target":{}}}`, `{"spec":{"schedule":{},"target":{}}}`} {
		got, err := tables[chaosPod].Convert([]byte(hub), chaosPod.Group, V1alpha1)
		if want := `{"spec":{},"apiVersion":"chaos.fairlead.dev/v1alpha1","metadata":{}}`; err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", hub, got, err, want)
		}
	}
}

func TestWhatCannotBeMovedIsNamed(t *testing.T) {
	for object, want := range map[string]string{
		`{"spec":{"template":{},"target":5}}`: "spec.target: must be an object",
		`[]`:                                  "not a JSON object",
		`{"spec":`:                            "unexpected EOF",
		`{} {}`:                               "there is more behind the object",
	} {
		if got, err := tables[chaosPod].Convert([]byte(object), chaosPod.Group, Hub); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s became %s, %v, want the error %q", object, got, err, want)
		}
	}
}

func TestAPathIsInTheWordsOfItsVersion(t *testing.T) {
	for path, want := range map[string]string{
		"spec.target.template":                    "spec.template",
		"spec.target.template.spec.containers[0]": "spec.template.spec.containers[0]",
		"spec.target.templates":                   "spec.target.templates",
		"spec.target":                             "spec.target",
		"spec.schedule.at":                        "spec.nextStop",
		"metadata.name":                           "metadata.name",
	} {
		if got := tables[chaosPod].Path(V1alpha1, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
		if got := tables[chaosPod].Path(Hub, path); got != path {
			t.Errorf("%s is %s at v1", path, got)
		}
	}
	if got, want := tables[chaosPod].Words(V1alpha1, "spec.schedule.at: too late"), "spec.nextStop: too late"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := tables[chaosPod].Words(V1alpha1, "spec.schedule.at"), "spec.schedule.at"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
