// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// forge returns an object's view at v1alpha1 in which the saved v1 spec was changed, with a digest
// that says that nothing was edited.
func (s *suite) forge(k kind, name string, change func(hubSpec map[string]any)) *unstructured.Unstructured {
	s.Helper()
	view := s.view(k, "v1alpha1", name)
	annotations := view.GetAnnotations()
	var data map[string]any
	s.Must(json.Unmarshal([]byte(annotations[common.ConversionDataAnnotation]), &data))
	change(data["hub"].(map[string]any)["spec"].(map[string]any))
	annotations[common.ConversionDataAnnotation] = framework.Text(data)
	view.SetAnnotations(annotations)
	return view
}

func TestForgedConversionDataIsHeldToTheFullRules(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	spec := `{suspend: true, ports: [{name: sql, port: 5432}], endpoints: [{name: a, zone: eu-east, addresses: [192.0.2.1]}]}`
	s.apply(externalServices.object("v1", "db", spec))
	s.Eventually(func() error { // or the operator's own write would be in the way
		if es := s.externalService("db"); es.Status.ObservedGeneration != es.Generation {
			return fmt.Errorf("generation %d, observed %d", es.Generation, es.Status.ObservedGeneration)
		}
		return nil
	})
	before := field(s.view(externalServices, "v1", "db"), "spec")
	for name, c := range map[string]struct {
		change func(map[string]any)
		wanted []string
	}{
		"an address that the schema refuses": {
			func(spec map[string]any) {
				spec["endpoints"].([]any)[0].(map[string]any)["addresses"] = []any{"169.254.169.254"}
			},
			[]string{"is invalid", "spec.hosts[0]", "169.254.169.254", "not allowed"},
		},
		"a label that only the webhook refuses": {
			func(spec map[string]any) {
				spec["service"] = map[string]any{"type": "ClusterIP", "labels": map[string]any{"service.kubernetes.io/service-proxy-name": "mine"}}
			},
			[]string{"is invalid", "spec.service.labels[service.kubernetes.io/service-proxy-name]", "reserved for controllers"},
		},
		"a value of no enum": {
			func(spec map[string]any) { spec["deletionPolicy"] = "Explode" },
			[]string{"is invalid", "spec.deletionPolicy", `"Explode"`, "Delete", "Orphan"},
		},
		"a value of the wrong type": {
			func(spec map[string]any) { spec["ports"] = "all" },
			[]string{"is invalid", "spec.ports"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *s
			sub.T = t
			// An update takes what v1alpha1 cannot express from the stored object alone.
			forged := sub.forge(externalServices, "db", c.change)
			sub.Expect(sub.try("replace", "-f", "-", "--", framework.Text(forged.Object)).err, "Warning: v1 spec (", "stays as it is stored")

			// A new object has no stored state, and is held to the full rules.
			forged.SetName("new")
			forged.SetResourceVersion("")
			forged.SetUID("")
			sub.refused(c.wanted, "create", "-f", "-", "--", framework.Text(forged.Object))
		})
	}
	if after := field(s.view(externalServices, "v1", "db"), "spec"); after != before {
		t.Errorf("a forged annotation changed the object: %s, then %s", before, after)
	}
}

func TestNoAnnotationOfOneObjectChangesOrBreaksTheListOfOthers(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	// Dense in another way than any review before: admission sees the object beside the sparse one that it replaces.
	sparse := func(text string) string {
		return fmt.Sprintf(`{target: {template: {metadata: {annotations: {a: %q}}, spec: {containers: [{name: c, image: nginx}]}}}, suspend: true, schedule: {interval: 1h}}`, text)
	}
	dense := `{target: {template: {spec: {securityContext: {supplementalGroups: [` + strings.Repeat("1,", 31_000) + `1]}, containers: [{name: c, image: nginx}]}}}, suspend: true, schedule: {interval: 1h}}`
	for _, k := range kinds {
		plain := map[kind]string{
			externalServices: `{suspend: true, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`,
			rebootPolicies:   `{suspend: true, targets: [{kind: Deployment, name: web}], cooldown: 10m, triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`,
			chaosPods:        `{suspend: true, target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`,
		}[k]
		names := map[string]bool{}
		create := func(name, annotation string) {
			object := s.Objects(k.object("v1", name, plain))[0]
			if annotation != "" {
				object.SetAnnotations(map[string]string{common.V1Alpha1DataAnnotation: annotation, common.ConversionDataAnnotation: annotation})
			}
			s.Must(s.try("create", "-f", "-", "--", framework.Text(object.Object)).failure)
			names[name] = true
		}
		create("first", "")
		for i, form := range []string{
			`{"metadata":{"name":"evil"}}`, `{"spec":{},"metadata":{"name":"evil","namespace":"kube-system","uid":"u"},"apiVersion":"v1","kind":"Pod","status":{"x":1}}`,
			`{"spec":7}`, `{"spec":null}`, `{"Spec":{"hosts":7},"SPEC":[]}`, `{"spec":{"hosts":7,"target":7,"template":7}}`, `{"spec":{"later":1e999}}`,
			`{"spec":{"hosts":["evil.example.com"]}}`, `{"spec":{"later":` + strings.Repeat("[", 9_995) + strings.Repeat("]", 9_995) + `}}`, `{"spec":{"later":[` + strings.Repeat("0,", 15_000) + `0]}}`,
			`{"spec":{"a":"\ud800","a":"\u0000"}}`, `[]`, `null`,
		} {
			create(fmt.Sprintf("forged-%d", i), `{"digest":"x","spoke":`+form+`,"hub":`+form+`}`)
		}
		create("not-json", "{")
		if k == chaosPods {
			s.apply(k.object("v1", "dense", sparse(strings.Repeat("x", 50_000))), "--server-side")
			s.apply(k.object("v1", "dense", dense), "--server-side")
			names["dense"] = true
		}
		for _, version := range []string{"v1", "v1alpha1"} {
			for _, options := range []metav1.ListOptions{{}, {Limit: 3}, {ResourceVersion: "0"}} {
				found := map[string]bool{}
				for _, object := range s.list(k, version, options) {
					found[object.GetName()] = true
					one := s.view(k, version, object.GetName())
					if one.GetName() != object.GetName() || one.GetNamespace() != s.Namespace || one.GetUID() != object.GetUID() || one.GetKind() != k.name ||
						object.GetAPIVersion() != k.group+"/"+version || object.GetNamespace() != s.Namespace {
						t.Errorf("%s at %s: GET has %s %s/%s, LIST %s %s/%s", k.name, version, one.GetKind(), one.GetNamespace(), one.GetName(), object.GetAPIVersion(), object.GetNamespace(), object.GetName())
					}
				}
				if len(found) != len(names) {
					t.Errorf("%s at %s: LIST has %d objects, want %d", k.name, version, len(found), len(names))
				}
			}
		}
		// The types of v1alpha1 read them all: a client whose list fails knows of no object.
		typed := map[kind]client.ObjectList{
			externalServices: &networkingv1alpha1.ExternalServiceList{}, rebootPolicies: &autorebootv1alpha1.RebootPolicyList{}, chaosPods: &chaosv1alpha1.ChaosPodList{},
		}[k]
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: "v1alpha1", Kind: k.name + "List"})
		s.Must(s.Client.List(s.Context(), list, client.InNamespace(s.Namespace)))
		raw, err := list.MarshalJSON()
		s.Must(err)
		s.Must(json.Unmarshal(raw, typed))
		if watched := s.watched(k, "v1alpha1", len(names)); len(watched) != len(names) {
			t.Errorf("%s at v1alpha1: the watch has %q", k.name, watched)
		}
	}
}

func TestAnObjectThatIsTooLargeToConvertIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	// Valid, and v1alpha1 can say next to nothing of it.
	targets := parse(`[{kind: Deployment, name: web}]`)
	var triggers []any
	for i := range 16 {
		var sources []any
		for j := range 30 {
			name := fmt.Sprintf("%s-%d-%d", strings.Repeat("a", 40), i, j)
			sources = append(sources, map[string]any{"kind": "Secret", "name": name, "keys": []any{name + "-a", name + "-b", name + "-c"}})
		}
		triggers = append(triggers, map[string]any{"name": fmt.Sprintf("t-%d", i), "type": "ConfigChange", "configChange": map[string]any{"sources": sources}})
	}
	wanted := []string{"is invalid", common.ConversionDataAnnotation, "65536 bytes", "make the spec smaller"}
	s.refused(wanted, "create", "-f", "-", "--", rebootPolicies.object("v1", "large", framework.Text(map[string]any{"targets": targets, "triggers": triggers})))

	// The same smuggled in through the annotation of a small v1alpha1 object.
	s.apply(rebootPolicies.object("v1", "small", `{targets: [{kind: Deployment, name: web, wave: 3}], cooldown: 1m, triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`))
	forged := s.forge(rebootPolicies, "small", func(spec map[string]any) { spec["targets"], spec["triggers"] = targets, triggers })
	forged.SetName("new")
	forged.SetResourceVersion("")
	forged.SetUID("")
	s.refused(wanted, "create", "-f", "-", "--", framework.Text(forged.Object))
}

func TestAHugeAnnotationThatRestoresNothingIsSpentOrRefused(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	p := pairs[1]
	object := s.Objects(p.object("v1alpha1", "stuffed", p.old))[0]
	object.SetAnnotations(map[string]string{common.ConversionDataAnnotation: `{"digest":"x","hub":` + strings.Repeat(" ", 200<<10) + `{}}`})
	answer := s.try("create", "-f", "-", "--", framework.Text(object.Object))
	if answer.failure != nil {
		s.Expect(answer.err, common.ConversionDataAnnotation, "65536 bytes")
		return
	}
	for _, version := range []string{"v1", "v1alpha1"} {
		stuffed := s.view(rebootPolicies, version, "stuffed")
		if found := s.restores(stuffed); len(found) > 0 || len(framework.Text(stuffed.GetAnnotations())) > 16<<10 {
			t.Errorf("at %s the annotation was kept: %v", version, found)
		}
	}
}

func TestAWorkloadChaosPodNeverBecomesATemplateThroughV1alpha1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(chaosPods.object("v1", "monkey", `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`))
	template := `{"spec":{"containers":[{"name":"c","image":"nginx"}]}}`
	s.refused([]string{"is invalid", "spec.template"},
		"patch", chaosPods.at("v1alpha1"), "monkey", "--type=merge", "-p", `{"spec":{"template":`+template+`}}`)

	// Without the annotation as well, as a client writes that drops what it does not know.
	view := s.view(chaosPods, "v1alpha1", "monkey")
	view.SetAnnotations(nil)
	view.Object["spec"] = parse(`{template: ` + template + `}`)
	s.refused([]string{"is invalid", "spec.template"}, "replace", "-f", "-", "--", framework.Text(view.Object))

	// Another edit at v1alpha1 leaves the target as it is.
	s.run("patch", chaosPods.at("v1alpha1"), "monkey", "--type=merge", "-p", `{"metadata":{"labels":{"touched":"yes"}},"spec":{"nextStop":"2027-01-01T00:00:00Z"}}`)
	after := s.view(chaosPods, "v1", "monkey")
	s.sameField(after, "spec.target", `{workload: {kind: Deployment, name: web}}`)
	s.sameField(after, "spec.schedule.at", `"2027-01-01T00:00:00Z"`)
}
