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
