// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// rich is an ExternalService at v1 with much in it.
const rich = `{service: {labels: {team: payments}}, ports: [{name: sql, port: 5432, targetPort: 6000, appProtocol: kubernetes.io/postgres}],
  endpoints: [{name: east, zone: eu-east, addresses: [192.0.2.10, 192.0.2.11]}, {name: west, zone: eu-west, addresses: [192.0.2.12], state: Drained, ports: [{name: sql, port: 6432}]}]}`

func TestPatchAndReplaceAtV1alpha1KeepTheRest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for verb, write := range map[string]func(name string){
		"patch": func(name string) {
			s.run("patch", externalServices.at("v1alpha1"), name, "--type=json", "-p",
				`[{"op":"add","path":"/metadata/labels","value":{"touched":"yes"}},{"op":"replace","path":"/spec/ports/0/port","value":5433}]`)
		},
		"replace": func(name string) {
			s.Eventually(func() error { // the operator writes the status beside this test
				old := s.view(externalServices, "v1alpha1", name)
				old.SetLabels(map[string]string{"touched": "yes"})
				ports, _, err := unstructured.NestedSlice(old.Object, "spec", "ports")
				s.Must(err)
				ports[0].(map[string]any)["port"] = int64(5433)
				s.Must(unstructured.SetNestedSlice(old.Object, ports, "spec", "ports"))
				return s.try("replace", "-f", "-", "--", framework.Text(old.Object)).failure
			})
		},
	} {
		s.apply(externalServices.object("v1", verb, rich))
		s.run("wait", "--for=condition=Ready", "--timeout="+framework.Patience.String(), "extsvc/"+verb)
		before := s.externalService(verb)
		write(verb)
		s.Eventually(func() error {
			if after := s.externalService(verb); after.Status.ObservedGeneration != after.Generation || after.Generation == before.Generation {
				return fmt.Errorf("%s: generation %d observed of %d, was %d", verb, after.Status.ObservedGeneration, after.Generation, before.Generation)
			}
			return nil
		})
		after := s.externalService(verb)
		if after.Labels["touched"] != "yes" || after.Spec.Ports[0].Port != 5433 {
			t.Errorf("%s: the edit is missing: %v %+v", verb, after.Labels, after.Spec.Ports)
		}
		wanted := before.Spec.DeepCopy()
		wanted.Ports[0].Port = 5433
		if framework.Text(wanted) != framework.Text(after.Spec) {
			t.Errorf("%s: spec\n got %s\nwant %s", verb, framework.Text(after.Spec), framework.Text(wanted))
		}
		if after.Status.ClusterIP != before.Status.ClusterIP || framework.Text(after.Status.ServiceRef) != framework.Text(before.Status.ServiceRef) {
			t.Errorf("%s: status\n got %s\n was %s", verb, framework.Text(after.Status), framework.Text(before.Status))
		}
	}
}

// A write at v1alpha1 of the object itself, rather than of its status, leaves the status alone: it is
// the memory of a policy, which no reconciler could make up.
func TestReplaceAtV1alpha1KeepsTheStatusOfV1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(rebootPolicies.object("v1", "told", `{targets: [{kind: Deployment, name: web}, {kind: Deployment, name: api}], cooldown: 5m,
  triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`))
	history := `[{"id":"1f-7","triggers":["up"],"target":{"kind":"Deployment","name":"api"},"result":"Succeeded","completionTime":"2026-03-02T20:00:00Z"}]`
	s.run("patch", rebootPolicies.at("v1"), "told", "--subresource=status", "--type=merge", "-p", `{"status":{"history":`+history+`,"handledRestartNow":"please"}}`)
	remembered := func() *unstructured.Unstructured {
		s.Helper()
		after := s.view(rebootPolicies, "v1", "told")
		s.sameField(after, "status.history", history)
		s.sameField(after, "status.handledRestartNow", `"please"`)
		return after
	}
	for _, port := range []int64{81, 82} {
		s.Eventually(func() error { // the operator writes the status beside this test
			old := s.view(rebootPolicies, "v1alpha1", "told")
			policies, _, err := unstructured.NestedSlice(old.Object, "spec", "policies")
			s.Must(err)
			s.Must(unstructured.SetNestedField(policies[0].(map[string]any), port, "probe", "tcpSocket", "port"))
			s.Must(unstructured.SetNestedSlice(old.Object, policies, "spec", "policies"))
			return s.try("replace", "-f", "-", "--", framework.Text(old.Object)).failure
		})
		after := remembered()
		s.sameField(after, "spec.cooldown", "5m")
		s.Expect(field(after, "spec.targets"), `"name":"api"`)
		s.Expect(field(after, "spec.triggers"), fmt.Sprintf(`"port":%d`, port))
	}
	// The other way round: a status that is written at v1alpha1 keeps the rest.
	s.run("patch", rebootPolicies.at("v1alpha1"), "told", "--subresource=status", "--type=merge", "-p", `{"status":{"lastRestartTime":"2026-03-02T22:00:00Z"}}`)
	s.sameField(remembered(), "status.lastRestartTime", `"2026-03-02T22:00:00Z"`)
}

func (s *suite) externalService(name string) *networkingv1.ExternalService {
	s.Helper()
	var es networkingv1.ExternalService
	s.Must(s.Get(name, &es))
	return &es
}

func TestListsOfBothVersionsAreWholeAndAlike(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	const objects, writers = 200, 8
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := w; i < objects; i += writers {
				version, spec := "v1alpha1", fmt.Sprintf(`{targets: [{kind: Deployment, name: web-%d}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`, i)
				if i%2 == 0 {
					version, spec = "v1", fmt.Sprintf(`{targets: [{kind: Deployment, name: web-%d}, {kind: Deployment, name: api-%d}], cooldown: 10m, triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`, i, i)
				}
				object := &unstructured.Unstructured{}
				if err := json.Unmarshal([]byte(rebootPolicies.object(version, fmt.Sprintf("p-%d", i), spec)), &object.Object); err != nil {
					t.Error(err)
				}
				object.SetNamespace(s.Namespace)
				if err := s.Client.Create(t.Context(), object); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	names := map[string]map[string]bool{}
	for _, version := range []string{"v1", "v1alpha1"} {
		names[version] = map[string]bool{}
		for _, options := range []metav1.ListOptions{{}, {Limit: 70}, {ResourceVersion: "0"}} {
			found := s.list(rebootPolicies, version, options)
			if len(found) != objects {
				t.Errorf("LIST at %s with %+v: %d objects, want %d", version, options, len(found), objects)
			}
			for _, object := range found {
				names[version][object.GetName()] = true
				path, want := "spec.targets", object.GetName()
				if want = "web-" + want[2:] + `"`; object.GetAPIVersion() != "autoreboot.fairlead.dev/"+version {
					t.Fatalf("LIST at %s holds %s", version, object.GetAPIVersion())
				}
				s.Expect(field(&object, path), want)
			}
		}
	}
	if framework.Text(names["v1"]) != framework.Text(names["v1alpha1"]) {
		t.Errorf("the versions list different objects: %v and %v", names["v1"], names["v1alpha1"])
	}
}

// list reads all pages at a version.
func (s *suite) list(k kind, version string, options metav1.ListOptions) []unstructured.Unstructured {
	s.Helper()
	var all []unstructured.Unstructured
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: version, Kind: k.name + "List"})
		s.Must(s.Client.List(s.Context(), page, client.InNamespace(s.Namespace), &client.ListOptions{Raw: &options, Limit: options.Limit, Continue: options.Continue}))
		all = append(all, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all
		}
	}
}
