// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"strings"
	"testing"
)

const service = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`

func TestWhatComesInAtAnotherVersionIsHeldToTheStoredOne(t *testing.T) {
	for kind, cases := range map[string]map[string]string{
		"ExternalService": {
			service: "",
			`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [127.0.0.1]}]}`:                        "spec.endpoints[*].addresses[*]: loopback",
			`{ports: [{name: sql, port: 70000}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`:                       "spec.ports[*].port: must be an integer, at least 1, at most 65535",
			`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.1]}]}`:             "spec.endpoints[*].addresses: must be a list, of 1 to 100 items, without any value twice",
			`{ports: [{name: sql, port: 5432}, {name: b, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`: "spec.ports: port and protocol must be unique",
			`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}], deletionPolicy: Keep}`:  "spec.deletionPolicy: must be one of 'Delete', 'Orphan'",
			`{ports: [{name: sql, port: 5432}], endpoints: null}`:                                                       "spec: must be set with endpoints and ports",
			`{endpoints: [{name: a, addresses: [192.0.2.1]}]}`:                                                          "spec: must be set with endpoints and ports",
		},
		"ChaosPod": {
			`{target: {selector: {matchLabels: {app: web}}}, schedule: {interval: 1h}}`:                                                "",
			`{target: {selector: {matchLabels: {app: web}}}, schedule: {interval: 1h}, count: 101%}`:                                   "spec.count: must be a non-negative integer",
			`{target: {selector: {matchLabels: {app: web}}}, schedule: {interval: 1h}, action: {gracePeriodSeconds: 0}}`:               "spec.action: gracePeriodSeconds 0 needs",
			`{target: {selector: {matchLabels: {app: web}}}, schedule: {interval: 1h}, action: {type: Delete, gracePeriodSeconds: 1}}`: "",
		},
	} {
		s := newScene(t, kind)
		for spec, want := range cases {
			s.wants(spec, s.evaluate(Request{Object: s.object(spec), Version: "v1alpha1"}), want)
			s.wants("at v1 it is for the schema to say", s.evaluate(Request{Object: s.object(spec)}), "")
		}
	}
}

func TestARuleThatCannotBeEvaluatedRefuses(t *testing.T) {
	s := newScene(t, "ExternalService")
	for _, spec := range []string{`{ports: 1}`, `{ports: [{name: sql, port: 5432}], endpoints: {a: b}}`, `{ports: [{name: sql, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}], resolution: {minTTL: soon, maxTTL: 1h}}`} {
		if refusals := s.evaluators[0].Evaluate(t.Context(), Request{Object: s.object(spec), Version: "v1alpha1", User: "ann"}); len(refusals) == 0 {
			t.Errorf("%s was accepted", spec)
		}
	}
}

func TestWhatStoodIsForgiven(t *testing.T) {
	s := newScene(t, "ExternalService")
	const broken = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [127.0.0.1]}, {name: b, addresses: [192.0.2.1]}], resolution: {minTTL: 9999999h, maxTTL: 1h}}`
	for name, c := range map[string]struct{ spec, want string }{
		"beside it":             {strings.Replace(broken, "port: 5432", "port: 5433", 1), ""},
		"in the same list":      {strings.Replace(broken, "192.0.2.1", "192.0.2.2", 1), ""},
		"in the same block":     {strings.Replace(broken, "1h", "2h", 1), ""},
		"another fault":         {strings.Replace(broken, "port: 5432", "port: 0", 1), "spec.ports[*].port"},
		"less of it":            {strings.Replace(broken, "127.0.0.1", "192.0.2.7", 1), ""},
		"nothing but a remnant": {broken, ""},
	} {
		s.wants(name, s.evaluate(Request{Object: s.object(c.spec), Old: s.object(broken), Version: "v1alpha1"}), c.want)
	}
	s.wants("a valid one is not", s.evaluate(Request{Object: s.object(strings.Replace(service, "192.0.2.1", "127.0.0.1", 1)), Old: s.object(service), Version: "v1alpha1"}), "loopback")
}

func TestNothingKeepsAnObjectFromBeingRelabeledOrDeleted(t *testing.T) {
	for _, kind := range []string{"ExternalService", "RebootPolicy", "ChaosPod"} {
		s := newScene(t, kind)
		broken := s.object(`{nothing: right}`, "fairlead.dev/conversion-data", strings.Repeat("x", 70_000), approved, "by no user")
		none := only(nil)
		relabeled := s.object(`{nothing: right}`, "fairlead.dev/conversion-data", strings.Repeat("x", 70_000), approved, "by no user")
		meta, _ := relabeled["metadata"].(map[string]any)
		meta["labels"], meta["finalizers"] = map[string]any{"a": "b"}, []any{"example.com/hold"}
		s.wants(kind+" relabeled", s.evaluate(Request{Object: relabeled, Old: broken, Version: "v1alpha1", Rights: none}), "")

		dying := s.object(`{nothing: left}`)
		meta, _ = dying["metadata"].(map[string]any)
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		s.wants(kind+" being deleted", s.evaluate(Request{Object: dying, Old: broken, Version: "v1alpha1", Rights: none}), "")
	}
}

func TestMarksAreBounded(t *testing.T) {
	s := newScene(t, "ExternalService")
	const annotation = "fairlead.dev/v1alpha1-data"
	large, larger := strings.Repeat("x", 65_537), strings.Repeat("x", 65_538)
	s.wants("new", s.evaluate(Request{Object: s.object(service, annotation, large)}), "metadata.annotations[fairlead.dev/v1alpha1-data]: must have at most 65536")
	s.wants("small", s.evaluate(Request{Object: s.object(service, annotation, large[:65_536])}), "")
	s.wants("as it was", s.evaluate(Request{Object: s.object(strings.Replace(service, "5432", "5433", 1), annotation, large), Old: s.object(service, annotation, large)}), "")
	s.wants("grown", s.evaluate(Request{Object: s.object(service, annotation, larger), Old: s.object(service, annotation, large)}), "at most 65536")

	for labels, want := range map[string]string{
		`{team: a, example.com/team: b, app.kubernetes.io/part-of: c}`: "",
		`{service.kubernetes.io/service-proxy-name: mine}`:             "spec.service.labels",
		`{kubernetes.io/x: y}`:                 "spec.service.labels",
		`{app.kubernetes.io/managed-by: me}`:   "spec.service.labels",
		`{fairlead.dev/x: y}`:                  "spec.service.labels",
		`{notkubernetes.io/x: y, a-k8s.io: b}`: "",
	} {
		s.wants(labels, s.evaluate(Request{Object: s.object(strings.TrimSuffix(service, "}") + ", service: {labels: " + labels + "}}")}), want)
	}
	for name, want := range map[string]string{"db.example.com": "", "localhost.": "localhost", "a.localhost.": "localhost", "notlocalhost.": "",
		"0x7f.1": "last label", "1.2.3": "last label", "a.0xff.": "last label", "a1.b2": ""} {
		s.wants(name, s.evaluate(Request{Object: s.object(`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: "` + name + `"}}]}`)}), want)
	}
	odd := s.object(service)
	meta, _ := odd["metadata"].(map[string]any)
	for name, want := range map[string]string{"a-1": "", "1a": "DNS label", "a.b": "DNS label"} {
		meta["name"] = name
		s.wants(name, s.evaluate(Request{Object: odd}), want)
	}
}
