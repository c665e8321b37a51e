// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
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

// Who may write objects, but not their status, changes no status: not at either version, not by an
// annotation, not on purpose and not with an old copy of the object.
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
		var newEdit struct{ Spec map[string]any }
		s.Must(json.Unmarshal([]byte(p.newEdit), &newEdit))
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
	if strings.HasSuffix(object.GetAPIVersion(), "/v1") {
		own["v1alpha1"] = map[string]any{"digest": "x", "status": forged}
	} else {
		own = map[string]any{"v1": forged}
	}
	object.Object["status"] = own
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for name, side := range map[string]string{common.ConversionDataAnnotation: "hub", common.V1Alpha1DataAnnotation: "spoke"} {
		saved := map[string]any{"digest": "x", "partial": true, side: map[string]any{}}
		if value, has := annotations[name]; has {
			s.Must(json.Unmarshal([]byte(value), &saved))
		}
		saved[side].(map[string]any)["status"] = forged
		annotations[name] = framework.Text(saved)
	}
	object.SetAnnotations(annotations)
}

// laterEdits are merge patches at v1 of what v1alpha1 cannot say, beside that of pairs; they show at path as
// seen. Absent are those fields of the edit of pairs that conversion from v1alpha1 does not write itself.
var laterEdits = map[string]struct {
	patch, path, seen string
	absent            []string
}{
	"ExternalService": {`{"spec":{"suspend":true}}`, "spec.suspend", `true`, []string{"service"}},
	"RebootPolicy":    {`{"spec":{"suspend":true}}`, "spec.suspend", `true`, []string{"windows"}},
	"ChaosPod":        {`{"spec":{"schedule":{"startingDeadline":"7m"}}}`, "spec.schedule.startingDeadline", `7m`, nil},
}

// A write at v1alpha1 leaves the fields that only v1 has as they are stored, and names those that it would
// have changed: with an old copy of the object, with one that was stripped of its annotations, with a
// manifest that never had any, and where the annotation alone is taken away.
func TestAWriteAtOneVersionKeepsTheFieldsOfTheOther(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		spec := s.newSpec(p.kind, p.old, p.newEdit)
		later := laterEdits[p.name]
		edited := topLevel(p.newEdit)
		changed := topLevel(later.patch)
		lost := slices.Compact(slices.Sorted(slices.Values(append(changed, edited...))))
		serverSide := []string{"apply", "--server-side", "--force-conflicts", "--field-manager=backup", "-f", "-", "--"}
		type write struct {
			command []string
			resets  []string // fields of v1 that it would change
		}
		old := func(name string) *unstructured.Unstructured {
			o := s.view(p.kind, "v1alpha1", name)
			for _, own := range []string{"resourceVersion", "uid", "managedFields", "generation", "creationTimestamp"} {
				unstructured.RemoveNestedField(o.Object, "metadata", own)
			}
			return o
		}
		stripped := func(name string) string {
			o := old(name)
			o.SetAnnotations(nil)
			return framework.Text(o.Object)
		}
		plain := func(name string) string { return p.object("v1alpha1", name, p.old) }
		for way, writes := range map[string]func(name string) []write{
			"replace-old": func(name string) []write {
				return []write{{[]string{"replace", "-f", "-", "--", framework.Text(old(name).Object)}, changed}}
			},
			"replace-bare": func(name string) []write {
				return []write{{[]string{"replace", "-f", "-", "--", stripped(name)}, lost}}
			},
			"replace-plain": func(name string) []write { return []write{{[]string{"replace", "-f", "-", "--", plain(name)}, lost}} },
			"apply": func(name string) []write {
				return []write{
					{[]string{"apply", "-f", "-", "--", framework.Text(old(name).Object)}, changed},
					{[]string{"apply", "-f", "-", "--", stripped(name)}, lost},
					{[]string{"apply", "-f", "-", "--", plain(name)}, nil}, // the annotation is that of the stored object again
				}
			},
			"server-side": func(name string) []write {
				return []write{
					{append(slices.Clone(serverSide), framework.Text(old(name).Object)), changed},
					// Server-side apply takes nothing away that another manager owns at v1, so there is nothing to keep.
					{append(slices.Clone(serverSide), stripped(name)), nil},
				}
			},
			// Nor does it take away a path that conversion writes itself, and leaves its value.
			"server-side-alone": func(name string) []write {
				return []write{{append(slices.Clone(serverSide), stripped(name)), later.absent}}
			},
			"patch": func(name string) []write {
				return []write{{[]string{"patch", p.at("v1alpha1"), name, "--type=merge", "-p", `{"metadata":{"annotations":null}}`}, lost}}
			},
		} {
			object := &unstructured.Unstructured{}
			s.Must(json.Unmarshal([]byte(p.object("v1", way, framework.Text(spec))), &object.Object))
			object.SetNamespace(s.Namespace)
			alone := way == "server-side-alone"
			if alone {
				s.run(append(slices.Clone(serverSide), framework.Text(object.Object))...)
			} else {
				s.Must(s.Client.Create(s.Context(), object))
			}
			all := writes(way)
			if !alone {
				s.Must(s.Client.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(later.patch))))
			}
			for i, w := range all {
				answer := s.try(w.command...)
				if answer.failure != nil {
					t.Errorf("%s, %s %d: %v\n%s", p.name, way, i, answer.failure, answer.err)
					continue
				}
				var wanted string
				if w.resets != nil {
					wanted = "Warning: v1 spec (" + strings.Join(w.resets, ", ") + "): what v1alpha1 cannot express stays as it is stored"
				}
				if said := strings.Contains(answer.err, "what v1alpha1 cannot express"); said != (wanted != "") || !strings.Contains(answer.err, wanted) {
					t.Errorf("%s, %s %d: expected %q in:\n%s", p.name, way, i, wanted, answer.err)
				}
				after := s.view(p.kind, "v1", way)
				s.sameField(after, p.newPath, p.newSeen)
				if !alone {
					s.sameField(after, later.path, later.seen)
				}
			}
		}
	}
}

// topLevel are the members of a spec that a patch changes.
func topLevel(patch string) []string {
	object, _ := parse(patch).(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	return slices.Sorted(maps.Keys(spec))
}

// The other way round: what only v1alpha1 has is kept at v1. A ChaosPod has nothing of that kind.
func TestAWriteAtV1KeepsWhatOnlyV1alpha1Has(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, own := range []struct {
		kind       kind
		spec, seen string
		warned     bool
	}{
		{rebootPolicies, `{target: {kind: Deployment, name: web}, policies: [{name: up, trigger: {probe: {httpGet: {port: 80, expectedStatuses: []}}}}]}`, `"expectedStatuses":[]`, true},
		{externalServices, `{hosts: [192.0.2.1], ports: {web: 80}, probe: {httpGet: {port: 80, expectedStatuses: []}}}`, `"expectedStatuses":[]`, true},
		{chaosPods, `{template: {metadata: {labels: {app: canary}}, spec: {containers: [{name: c, image: nginx}]}}, nextStop: "2126-01-01T02:00:00.125+02:00"}`, `"2126-01-01T02:00:00.125+02:00"`, false},
	} {
		serverSide := []string{"apply", "--server-side", "--force-conflicts", "-f", "-", "--"}
		for _, way := range []string{"replace", "apply", "server-side", "server-side-alone", "patch"} {
			object := &unstructured.Unstructured{}
			s.Must(json.Unmarshal([]byte(own.kind.object("v1alpha1", way, own.spec)), &object.Object))
			object.SetNamespace(s.Namespace)
			if way == "server-side-alone" {
				s.run(append(slices.Clone(serverSide), framework.Text(object.Object))...)
			} else {
				s.Must(s.Client.Create(s.Context(), object))
			}
			v1 := s.view(own.kind, "v1", way)
			if _, has := v1.GetAnnotations()[common.V1Alpha1DataAnnotation]; has != own.warned {
				t.Errorf("%s: %s of v1 is there: %t", own.kind.name, common.V1Alpha1DataAnnotation, has)
			}
			for _, name := range []string{"resourceVersion", "uid", "managedFields"} {
				unstructured.RemoveNestedField(v1.Object, "metadata", name)
			}
			whole := framework.Text(v1.Object)
			v1.SetAnnotations(nil)
			commands := map[string][][]string{
				"replace":           {{"replace", "-f", "-", "--", framework.Text(v1.Object)}},
				"apply":             {{"apply", "-f", "-", "--", whole}, {"apply", "-f", "-", "--", framework.Text(v1.Object)}},
				"server-side":       {append(slices.Clone(serverSide), whole), append(slices.Clone(serverSide), framework.Text(v1.Object))},
				"server-side-alone": {append(slices.Clone(serverSide), framework.Text(v1.Object))},
				"patch":             {{"patch", own.kind.at("v1"), way, "--type=merge", "-p", `{"metadata":{"annotations":null}}`}},
			}[way]
			for i, command := range commands {
				answer := s.try(command...)
				s.Must(answer.failure)
				last := i == len(commands)-1 && way != "server-side" // which leaves what its other manager owns
				if said := strings.Contains(answer.err, "Warning: metadata.annotations[fairlead.dev/v1alpha1-data]: stays as it is stored"); said != (own.warned && last) {
					t.Errorf("%s, %s %d: warned %t:\n%s", own.kind.name, way, i, said, answer.err)
				}
			}
			s.Expect(framework.Text(s.view(own.kind, "v1alpha1", way).Object["spec"]), own.seen)
		}
	}
}

// newSpec is a spec of v1alpha1 as v1 has it, with an edit.
func (s *suite) newSpec(k kind, old, edit string) any {
	s.Helper()
	s.run("create", "-f", "-", "--", k.object("v1alpha1", "template-of-kept", old))
	s.run("patch", k.at("v1"), "template-of-kept", "--type=merge", "-p", edit)
	spec := s.view(k, "v1", "template-of-kept").Object["spec"]
	s.run("delete", k.at("v1"), "template-of-kept")
	return spec
}

// A write that would leave no room for the restore annotation of the other version is refused, be it of the
// metadata alone; deletion never is.
func TestAnAnnotationThatLeavesNoRoomIsRefused(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run("create", "-f", "-", "--", externalServices.object("v1", "full", `{suspend: true, ports: [{name: http, port: 80}], endpoints: [{name: e, zone: z, addresses: [192.0.2.1]}]}`))
	large := func(version string, n int) error {
		patch := framework.Text(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"x/y": strings.Repeat("y", n)}}})
		return s.Client.Patch(s.Context(), s.view(externalServices, version, "full"), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	for _, version := range []string{"v1", "v1alpha1"} {
		err := large(version, 253<<10)
		if err == nil {
			t.Errorf("an annotation that leaves no room was accepted at %s", version)
			continue
		}
		s.Expect(err.Error(), "is invalid", "metadata.annotations", "x/y (", "shorten")
	}
	s.Must(large("v1", 240<<10))
	s.run("patch", externalServices.at("v1alpha1"), "full", "--type=merge", "-p", `{"spec":{"ports":{"http":81}}}`)
	after := s.view(externalServices, "v1", "full")
	s.sameField(after, "spec.suspend", "true")
	s.Expect(field(after, "spec.endpoints"), `"zone":"z"`)
	s.run("delete", externalServices.at("v1alpha1"), "full")
}
