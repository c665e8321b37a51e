// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// pairs are, for each kind, an object at v1alpha1, and an edit through either version.
var pairs = []struct {
	kind
	old string // spec at v1alpha1
	// oldEdit is a merge patch at v1alpha1; at v1 it shows at oldPath as oldSeen.
	oldEdit, oldPath, oldSeen string
	// newEdit is a merge patch at v1 of other fields; it shows at newPath as newSeen.
	newEdit, newPath, newSeen string
}{
	{
		kind: externalServices,
		old: `{ports: [{name: postgres, port: 5432}], endpoints: [{name: main, dns: {name: db.example.com}}, {name: spare, addresses: [192.0.2.10], priority: 1}],
  resolution: {minTTL: 60s, maxTTL: 60s}, probe: {tcpSocket: {port: 5432}, interval: 10s, timeout: 2s, successThreshold: 2, failureThreshold: 3}}`,
		oldEdit: `{"spec":{"probe":{"interval":"20s"}}}`, oldPath: "spec.healthCheck.interval", oldSeen: `20s`,
		newEdit: `{"spec":{"deletionPolicy":"Orphan","service":{"labels":{"team":"payments"}}}}`,
		newPath: "spec.service", newSeen: `{labels: {team: payments}}`,
	},
	{
		kind: rebootPolicies,
		old: `{targets: [{kind: Deployment, name: payments-api}], cooldown: 10m, policies: [{name: wedged, type: Probe, description: restart when stuck, probe: {
  httpGet: {path: /healthz, port: 8080, scheme: HTTP}, interval: 30s, timeout: 5s, successThreshold: 1, failureThreshold: 5}}]}`,
		oldEdit: `{"spec":{"targets":[{"kind":"Deployment","name":"payments-web"}]}}`, oldPath: "spec.targets", oldSeen: `[{kind: Deployment, name: payments-web}]`,
		newEdit: `{"spec":{"windows":[{"name":"nightly","cron":"0 22 * * *","duration":"6h","timeZone":"Europe/Zurich"}]}}`,
		newPath: "spec.windows", newSeen: `[{name: nightly, cron: "0 22 * * *", duration: 6h, timeZone: Europe/Zurich}]`,
	},
	{
		kind:    chaosPods,
		old:     `{template: {metadata: {labels: {app: canary}}, spec: {containers: [{name: c, image: nginx}]}}, nextStop: "2026-01-01T00:00:00Z"}`,
		oldEdit: `{"spec":{"nextStop":"2027-01-01T00:00:00Z"}}`, oldPath: "spec.schedule.at", oldSeen: `"2027-01-01T00:00:00Z"`,
		newEdit: `{"spec":{"suspend":true,"verification":{"timeout":"3m"}}}`,
		newPath: "spec.verification", newSeen: `{timeout: 3m, onFailure: Halt}`,
	},
}

// holds demands that an object has every field of a spec, which defaults may have grown.
func (s *suite) holds(object *unstructured.Unstructured, spec string) {
	s.Helper()
	if !within(parse(spec), object.Object["spec"]) {
		s.Errorf("%s %s has the spec\n%s\nwant in it\n%s", object.GetAPIVersion(), object.GetName(), field(object, "spec"), spec)
	}
}

// within reports whether a value has all that another has.
func within(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, is := got.(map[string]any)
		for name, value := range want {
			is = is && within(value, object[name])
		}
		return is
	case []any:
		list, is := got.([]any)
		if !is || len(list) != len(want) {
			return false
		}
		for i := range want {
			is = is && within(want[i], list[i])
		}
		return is
	}
	return framework.Text(want) == framework.Text(got)
}

func TestAnObjectWrittenAtV1alpha1ReadsBackAsWritten(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		s.apply(p.object("v1alpha1", "old", p.old))
		s.holds(s.view(p.kind, "v1alpha1", "old"), p.old)
		if stored := field(s.view(p.kind, "v1", "old"), "spec"); strings.Contains(stored, `"probe":{"tcp`) || strings.Contains(stored, `"policies"`) || strings.Contains(stored, `"nextStop"`) {
			t.Errorf("%s at v1 has fields of v1alpha1: %s", p.name, stored)
		}
	}
}

func TestEditsThroughBothVersionsAreKept(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		for name, edits := range map[string][2][2]string{
			"new-then-old": {{"v1", p.newEdit}, {"v1alpha1", p.oldEdit}},
			"old-then-new": {{"v1alpha1", p.oldEdit}, {"v1", p.newEdit}},
		} {
			s.apply(p.object("v1alpha1", name, p.old))
			for _, edit := range edits {
				s.run("patch", p.at(edit[0]), name, "--type=merge", "-p", edit[1])
			}
			after := s.view(p.kind, "v1", name)
			s.sameField(after, p.newPath, p.newSeen)
			s.sameField(after, p.oldPath, p.oldSeen)
		}
	}
}

func TestApplyingAManifestAgainWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	// Where items of a list got defaults, kubectl sends the list again and says "configured"; the
	// API server finds nothing to write.
	for _, object := range s.manifests("good.yaml") {
		manifest := framework.Text(object.Object)
		s.apply(manifest)
		generation := s.run("get", "-f", "-", "-o", "jsonpath={.metadata.generation} {.spec}", "--", manifest)
		s.apply(manifest)
		if after := s.run("get", "-f", "-", "-o", "jsonpath={.metadata.generation} {.spec}", "--", manifest); after != generation {
			t.Errorf("%s %s: applying it again wrote something:\n%s\n%s", object.GetKind(), object.GetName(), generation, after)
		}
	}
}

func TestObjectsWithoutSpecAreRefusedByTheSchema(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, k := range kinds {
		for _, version := range []string{"v1", "v1alpha1"} {
			answer := s.try("create", "-f", "-", "--", k.object(version, "hollow", ""))
			if answer.failure == nil {
				t.Errorf("%s at %s without spec was accepted", k.name, version)
				continue
			}
			s.Expect(answer.err, "is invalid", "spec")
			if strings.Contains(answer.err, "conversion") || strings.Contains(answer.err, "Internal") {
				t.Errorf("%s at %s without spec: the refusal is not about the spec: %s", k.name, version, answer.err)
			}
		}
	}
}
