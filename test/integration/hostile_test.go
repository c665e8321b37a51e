// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/api/common"
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
