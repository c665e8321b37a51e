// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// statuses are the memory of an object of each kind that no reconciler could make up, and members of it
// that a forger would change.
var statuses = map[string]struct{ status, forged string }{
	"RebootPolicy": {
		`{"history":[{"id":"1f-7","triggers":["up"],"target":{"kind":"Deployment","name":"api"},"result":"Succeeded","completionTime":"2026-03-02T20:00:00Z"}],"handledRestartNow":"please"}`,
		`{"history":[],"handledRestartNow":"forged","lastRestartTime":"2026-03-02T20:00:00Z"}`,
	},
	"ExternalService": {`{"handledFailbackNow":"before"}`, `{"handledFailbackNow":"forged","clusterIP":"6.6.6.6"}`},
	"ChaosPod":        {`{"lastRunTime":"2026-03-02T20:00:00Z","killedToday":3}`, `{"lastRunTime":"2026-03-03T20:00:00Z","killedToday":0}`},
}

// exported is an object as a backup has it.
func (s *suite) exported(k kind, version, name string) *unstructured.Unstructured {
	s.Helper()
	object := s.view(k, version, name)
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetManagedFields(nil)
	return object
}

// forgeStatus puts a status wherever one might be taken from.
func (s *suite) forgeStatus(object *unstructured.Unstructured, status string) {
	s.Helper()
	forged, _ := parse(status).(map[string]any)
	own, _ := object.Object["status"].(map[string]any)
	if own == nil {
		own = map[string]any{}
	}
	for name, value := range forged {
		own[name] = value
	}
	object.Object["status"] = own
}

// Who may write objects, but not their status, changes no status: not at either version, not on purpose and not with an old copy of the object.
func TestNoWriteOfAnObjectChangesItsStatus(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run("create", "serviceaccount", "editor")
	s.run("create", "rolebinding", "edit", "--clusterrole=edit", "--serviceaccount="+s.Namespace+":editor")
	user := "--as=system:serviceaccount:" + s.Namespace + ":editor"
	for _, p := range pairs {
		s.run("create", "rolebinding", p.name, "--clusterrole=fairlead-"+strings.ToLower(p.name)+"-edit", "--serviceaccount="+s.Namespace+":editor")
	}
	for _, p := range pairs {
		told := statuses[p.name]
		s.apply(p.object("v1alpha1", "told", p.old))
		s.run("patch", p.at("v1"), "told", "--type=merge", "-p", p.newEdit)
		exports := map[string]string{}
		for _, version := range []string{"v1", "v1alpha1"} {
			exports[version] = framework.Text(s.exported(p.kind, version, "told").Object)
		}
		s.run("patch", p.at("v1"), "told", "--subresource=status", "--type=merge", "-p", `{"status":`+told.status+`}`)
		remembered := func(after string) {
			s.Helper()
			status, _ := s.view(p.kind, "v1", "told").Object["status"].(map[string]any)
			want, _ := parse(told.status).(map[string]any)
			for name, value := range want {
				if diff := cmp.Diff(framework.Text(value), framework.Text(status[name])); diff != "" {
					t.Errorf("%s: status.%s after %s:\n%s", p.name, name, after, diff)
				}
			}
			if strings.Contains(framework.Text(status), "forged") || strings.Contains(framework.Text(status), "6.6.6.6") {
				t.Errorf("%s: the status after %s is forged: %s", p.name, after, framework.Text(status))
			}
		}
		remembered("it was written")

		for version, export := range exports {
			for _, way := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts", "--field-manager=backup"}, {"replace"}} {
				s.run(append(append(way, user, "-f", "-"), "--", export)...)
				remembered(strings.Join(way, " ") + " of an old copy at " + version)
			}
		}
		for _, version := range []string{"v1", "v1alpha1"} {
			forged := s.exported(p.kind, version, "told")
			s.forgeStatus(forged, told.forged)
			for _, way := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts", "--field-manager=mallory"}, {"replace"}} {
				s.run(append(append(way, user, "-f", "-"), "--", framework.Text(forged.Object))...)
				remembered(strings.Join(way, " ") + " of a forged status at " + version)
			}
			s.run("patch", p.at(version), "told", user, "--type=merge", "-p", framework.Text(map[string]any{
				"metadata": map[string]any{"annotations": forged.GetAnnotations()}, "status": forged.Object["status"]}))
			remembered("a patch of a forged status at " + version)
			if answer := s.try("patch", p.at(version), "told", user, "--subresource=status", "--type=merge", "-p", `{"status":`+told.forged+`}`); answer.failure == nil {
				t.Errorf("%s: an editor wrote the status at %s", p.name, version)
			}

			// A new object has no status at all but what the operator writes.
			fresh := forged.DeepCopy()
			fresh.SetName("fresh-" + version)
			s.run("create", user, "-f", "-", "--", framework.Text(fresh.Object))
			for _, read := range []string{"v1", "v1alpha1"} {
				status := framework.Text(s.view(p.kind, read, "fresh-"+version).Object["status"])
				if strings.Contains(status, "forged") || strings.Contains(status, "6.6.6.6") || strings.Contains(status, "2026-03-0") {
					t.Errorf("%s: created at %s with a forged status, and at %s has %s", p.name, version, read, status)
				}
			}
		}
	}
}
