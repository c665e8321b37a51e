// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// pairs are, for each kind, an object at v1alpha1 that says all that it implies, and an edit through
// either version that the other one cannot undo.
var pairs = []struct {
	kind
	old string // spec at v1alpha1
	// oldEdit is a merge patch at v1alpha1; at v1 it shows at oldPath as oldSeen.
	oldEdit, oldPath, oldSeen string
	// newEdit is a merge patch at v1 of what v1alpha1 cannot say; it shows at newPath as newSeen.
	newEdit, newPath, newSeen string
}{
	{
		kind: externalServices,
		old: `{hosts: [db.example.com, 192.0.2.10], ports: {postgres: 5432}, refreshSeconds: 60,
  probe: {tcpSocket: {port: 5432}, periodSeconds: 10, timeoutSeconds: 2, successThreshold: 2, failureThreshold: 3}}`,
		oldEdit: `{"spec":{"probe":{"periodSeconds":20}}}`, oldPath: "spec.healthCheck.interval", oldSeen: `20s`,
		newEdit: `{"spec":{"deletionPolicy":"Orphan","service":{"labels":{"team":"payments"}}}}`,
		newPath: "spec.service", newSeen: `{type: ClusterIP, labels: {team: payments}}`,
	},
	{
		kind: rebootPolicies,
		old: `{target: {kind: Deployment, name: payments-api}, policies: [{name: wedged, comment: restart when stuck, trigger: {probe: {
  httpGet: {path: /healthz, port: 8080, scheme: HTTP}, periodSeconds: 30, timeoutSeconds: 5, successThreshold: 1, failureThreshold: 5}}}]}`,
		oldEdit: `{"spec":{"target":{"name":"payments-web"}}}`, oldPath: "spec.targets", oldSeen: `[{kind: Deployment, name: payments-web}]`,
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

func TestAnObjectWrittenAtV1alpha1ReadsBackAsWritten(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		s.apply(p.object("v1alpha1", "old", p.old))
		s.sameField(s.view(p.kind, "v1alpha1", "old"), "spec", p.old)
		if stored := field(s.view(p.kind, "v1", "old"), "spec"); strings.Contains(stored, `"hosts"`) || strings.Contains(stored, `"policies"`) || strings.Contains(stored, `"nextStop"`) {
			t.Errorf("%s at v1 has fields of v1alpha1: %s", p.name, stored)
		}
	}
}

func TestRestoreAnnotationStandsOnlyWhereSomethingWouldBeLost(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		s.run("create", "-f", "-", "--", p.object("v1alpha1", "plain", p.old))
		for _, version := range []string{"v1", "v1alpha1"} {
			if found := s.restores(s.view(p.kind, version, "plain")); len(found) > 0 {
				t.Errorf("%s: nothing is lost, and at %s there is %v", p.name, version, found)
			}
		}
		s.run("patch", p.at("v1"), "plain", "--type=merge", "-p", p.newEdit)
		if found := s.restores(s.view(p.kind, "v1", "plain")); len(found) > 0 {
			t.Errorf("%s: v1 can say all of it, and yet has %v", p.name, found)
		}
		if found := s.restores(s.view(p.kind, "v1alpha1", "plain")); !slices.Equal(found, []string{common.ConversionDataAnnotation}) {
			t.Errorf("%s: v1alpha1 cannot say the edit, and has %v", p.name, found)
		}
	}
	// The heavy part that both versions hold stands in the object alone.
	data := s.view(chaosPods, "v1alpha1", "plain").GetAnnotations()[common.ConversionDataAnnotation]
	if strings.Contains(data, "nginx") || !strings.Contains(data, `"timeout":"3m"`) {
		t.Errorf("the annotation of a ChaosPod should hold the edit and no template: %s", data)
	}
}

// restores are the names of the annotations of an object that restore something of a spec. Those of a
// status, most of which v1alpha1 cannot say, come and go beside every test.
func (s *suite) restores(object *unstructured.Unstructured) []string {
	s.Helper()
	var found []string
	for _, name := range []string{common.ConversionDataAnnotation, common.V1Alpha1DataAnnotation} {
		value, has := object.GetAnnotations()[name]
		if !has {
			continue
		}
		var saved map[string]json.RawMessage
		s.Must(json.Unmarshal([]byte(value), &saved))
		for _, side := range []string{"hub", "spoke"} {
			var form struct{ Spec json.RawMessage }
			if saved[side] != nil {
				s.Must(json.Unmarshal(saved[side], &form))
			}
			if form.Spec != nil {
				found = append(found, name)
			}
		}
	}
	return found
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

// written is an object without what the operator may write at any time.
func (s *suite) written(k kind, name string) *unstructured.Unstructured {
	s.Helper()
	object := s.view(k, "v1", name)
	delete(object.Object, "status")
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	object.SetFinalizers(nil)
	return object
}

func TestApplyingTheSameManifestAgainLeavesItUnchanged(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		manifest := p.object("v1alpha1", "steady", p.old)
		s.apply(manifest)
		s.Expect(s.apply(manifest).out, "unchanged")
		s.run("patch", p.at("v1"), "steady", "--type=merge", "-p", p.newEdit)
		before := s.written(p.kind, "steady")
		s.Expect(s.apply(manifest).out, "unchanged")
		after := s.written(p.kind, "steady")
		if framework.Text(before.Object) != framework.Text(after.Object) {
			t.Errorf("%s: applying what stands there wrote something:\n%s\n%s", p.name, framework.Text(before.Object), framework.Text(after.Object))
		}
	}
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

func TestServerSideApplyAtBothVersionsKeepsEachManagersFields(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		old := p.object("v1alpha1", "shared", p.old)
		var extra map[string]any
		s.Must(json.Unmarshal([]byte(p.newEdit), &extra))
		added := p.object("v1", "shared", framework.Text(extra["spec"]))
		s.apply(old, "--server-side", "--field-manager=old-team")
		s.apply(added, "--server-side", "--field-manager=new-team")
		s.apply(old, "--server-side", "--field-manager=old-team")
		s.apply(added, "--server-side", "--field-manager=new-team")

		after := s.view(p.kind, "v1", "shared")
		s.sameField(after, p.newPath, p.newSeen)
		s.sameField(s.view(p.kind, "v1alpha1", "shared"), "spec", p.old)
		managers := s.managers(p.kind, "shared")
		if !slices.Contains(managers, "old-team v1alpha1") || !slices.Contains(managers, "new-team v1") {
			t.Errorf("%s: fields are managed by %q", p.name, managers)
		}
	}
}

// managers lists who manages fields of an object, as "<manager> <version>".
func (s *suite) managers(k kind, name string) []string {
	s.Helper()
	object := &unstructured.Unstructured{}
	s.Must(json.Unmarshal([]byte(s.run("get", k.at("v1"), name, "-o", "json", "--show-managed-fields")), &object.Object))
	var list []string
	for _, entry := range object.GetManagedFields() {
		list = append(list, entry.Manager+" "+entry.APIVersion[strings.LastIndexByte(entry.APIVersion, '/')+1:])
	}
	return list
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
