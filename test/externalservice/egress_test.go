// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// static returns a spec at v1 with two addresses. The second one matters.
func static(outside, address string) string {
	return fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [%q, %q]}]}`, outside, address)
}

// approver is the user whom the annotation of an object names; "" without one.
func (s *suite) approver(name string) string {
	s.Helper()
	es, err := s.get(name)
	s.Must(err)
	value := es.Annotations[common.ApprovedByAnnotation]
	if value == "" {
		return ""
	}
	var approval struct{ User string }
	s.Must(json.Unmarshal([]byte(value), &approval))
	return approval.User
}

// absent ends the test where an ExternalService is stored.
func (s *suite) absent(name string) {
	s.Helper()
	if es, err := s.get(name); !apierrors.IsNotFound(err) {
		s.Errorf("%s is stored: %v %s", name, err, framework.Text(es))
	}
}

func TestAnAddressOfTheClusterTakesTheRightToPublishThere(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	eve, ann := s.newPerson("eve"), s.newPerson("ann", mayPublish)
	node, pod := s.newNode()
	endpoint := s.Servers.Address()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "kubernetes-", Namespace: "default",
			Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes", discoveryv1.LabelManagedBy: "another"},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{endpoint}}},
	}
	s.Must(s.Client.Create(t.Context(), slice))
	s.afterwards(slice)
	for name, c := range map[string]struct{ address, detail string }{
		"service":           {"10.96.7.7", "is in a range of Services"},
		"service-of-ipv6":   {"fd00:10:96::77", "is in a range of Services"},
		"api-server":        {"10.96.0.1", "is the API server"},
		"behind-api-server": {endpoint, "is the API server"},
		"node":              {node, "is an address of a node"},
		"pod":               {pod, "is an address of pods"},
	} {
		t.Run(name, func(t *testing.T) {
			s, eve, ann := s.in(t), eve.in(t), ann.in(t)
			spec, outside := static(s.Servers.Address(), c.address), s.Servers.Address()
			remedy := []string{
				"Forbidden", c.address, c.detail, fmt.Sprintf("user %q may not create services and endpointslices.discovery.k8s.io", eve.name),
				s.Namespace, "ask for that right", "egress policy",
			}
			// Replicas learn of nodes and endpoints a moment later.
			s.Eventually(func() error { return expected(eve.create("v1", name, spec, client.DryRunAll), remedy...) })
			for what, err := range map[string]error{
				"dry-run":          eve.create("v1", name, spec, client.DryRunAll),
				"create":           eve.create("v1", name, spec),
				"v1alpha1":         eve.create("v1alpha1", name, fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [%q]}, {name: host-1, addresses: [%q]}]}`, outside, c.address)),
				"v1alpha1 dry-run": eve.create("v1alpha1", name, fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [%q]}]}`, c.address), client.DryRunAll),
			} {
				path := "spec.endpoints[0].addresses[1]"
				if strings.HasPrefix(what, "v1alpha1") {
					path = "spec.endpoints["
				}
				if err := expected(err, append(remedy, path)...); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			s.absent(name)
			s.Must(ann.create("v1", name, spec, client.DryRunAll))
			s.absent(name)
			s.Must(ann.create("v1", name, spec))
			if got := s.approver(name); got != ann.name {
				t.Errorf("approved by %q, want %q", got, ann.name)
			}
			s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		})
	}
	t.Run("through v1alpha1 with the right", func(t *testing.T) {
		s, ann := s.in(t), ann.in(t)
		s.Must(ann.create("v1alpha1", "old", `{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [10.96.0.10]}]}`))
		if got := s.approver("old"); got != ann.name {
			t.Errorf("approved by %q, want %q", got, ann.name)
		}
		s.publishes("old", "10.96.0.10")
	})
}

func TestAnApprovalCannotBeForgedAndOutlivesOtherEdits(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	eve, ann := s.newPerson("eve"), s.newPerson("ann", mayPublish)
	const address, other, path = "10.96.8.8", "10.96.8.9", "spec.endpoints[0].addresses[1]"
	outside := s.Servers.Address()
	s.Must(ann.create("v1", "db", static(outside, address)))
	es, err := s.get("db")
	s.Must(err)
	genuine := es.Annotations[common.ApprovedByAnnotation]
	annotate := func(value string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{common.ApprovedByAnnotation: value})
		}
	}
	forged := func(name, spec, value string) error {
		object := s.object("v1", name, spec)
		annotate(value)(object)
		return eve.client.Create(t.Context(), object)
	}

	// A copy of an approval that does cover these addresses is worth nothing, nor is a made-up one.
	s.Must(expected(forged("copy", static(outside, address), genuine), path, eve.name))
	s.Must(expected(forged("made-up", static(outside, address), `{"user":"system:admin"}`), path, eve.name))
	s.absent("copy")
	s.absent("made-up")
	// Where no right is needed the object is stored, without the annotation.
	s.Must(forged("harmless", static(outside, s.Servers.Address()), genuine))
	if got := s.approver("harmless"); got != "" {
		t.Errorf("a forged annotation is stored: %q", got)
	}
	s.Must(expected(eve.update("harmless", func(o *unstructured.Unstructured) {
		annotate(genuine)(o)
		o.Object["spec"] = s.object("v1", "x", static(outside, address)).Object["spec"]
	}), path, eve.name))

	kept := func(what string) {
		t.Helper()
		es, err := s.get("db")
		s.Must(err)
		if got := es.Annotations[common.ApprovedByAnnotation]; got != genuine {
			t.Errorf("after %s the approval is %q, want %q", what, got, genuine)
		}
	}
	for what, edit := range map[string]func(*unstructured.Unstructured){
		"removing the annotation":  func(o *unstructured.Unstructured) { o.SetAnnotations(nil) },
		"replacing the annotation": annotate(`{"user":"eve"}`),
		"editing another field": func(o *unstructured.Unstructured) {
			s.Must(unstructured.SetNestedField(o.Object, map[string]any{"labels": map[string]any{"team": "eve"}}, "spec", "service"))
		},
	} {
		s.Must(eve.update("db", edit))
		kept(what)
	}
	s.Must(eve.updateAt("v1alpha1", "db", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedField(o.Object, "60s", "spec", "resolution", "minTTL"))
	}))
	kept("an edit through v1alpha1")

	// Other addresses or ports, and waking up, ask again.
	endpoints := func(addresses ...any) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			s.Must(unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "a", "addresses": addresses}}, "spec", "endpoints"))
		}
	}
	s.Must(expected(eve.update("db", endpoints(outside, other)), path, other))
	s.Must(expected(eve.update("db", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "sql", "port": int64(10250)}}, "spec", "ports"))
	}), path, address))
	s.Must(expected(eve.updateAt("v1alpha1", "db", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "a", "addresses": []any{outside, other}}}, "spec", "endpoints"))
	}), "spec.endpoints[", other))
	kept("refused edits")
	s.Must(ann.update("db", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedField(o.Object, true, "spec", "suspend"))
	}))
	s.Must(expected(eve.update("db", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedField(o.Object, false, "spec", "suspend"))
	}), path, address))
	s.Must(ann.update("db", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedField(o.Object, false, "spec", "suspend"))
	}))
	s.publishes("db", outside, address)

	// A user who takes the address out cannot put it back.
	s.Must(eve.update("db", endpoints(outside, s.Servers.Address())))
	if got := s.approver("db"); got != "" {
		t.Errorf("approved by %q, without an address that needs it", got)
	}
	s.Must(expected(eve.update("db", endpoints(outside, address)), path, address))
}

func TestAnApprovalCoversWhatHealthChecksAsk(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	eve, ann := s.newPerson("eve"), s.newPerson("ann", mayPublish)
	const address = "10.96.7.8"
	const pace = `interval: 1h, unhealthyInterval: 1h`
	s.Must(ann.create("v1", "db", fmt.Sprintf(`{ports: [{name: sql, port: 5432}, {name: admin, port: 22}], endpoints: [{name: a, addresses: [%q]}], healthCheck: {tcpSocket: {port: sql}, %s}}`, address, pace)))
	approved := s.approver("db")
	if approved != ann.name {
		t.Fatalf("approved by %q, want %q", approved, ann.name)
	}
	to := func(check string) func(*unstructured.Unstructured) {
		var parsed map[string]any
		s.Must(yaml.Unmarshal([]byte("{"+check+", "+pace+"}"), &parsed))
		return func(o *unstructured.Unstructured) {
			s.Must(unstructured.SetNestedMap(o.Object, parsed, "spec", "healthCheck"))
		}
	}
	for name, check := range map[string]string{
		"another port":     "tcpSocket: {port: admin}",
		"another protocol": "httpGet: {path: /admin, port: sql}",
		"a service":        "grpc: {service: admin, port: sql}",
	} {
		if err := expected(eve.update("db", to(check)), address, "may not create services", "Forbidden"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Must(eve.update("db", to("tcpSocket: {port: sql}, successThreshold: 3"))) // no more is asked
	s.Must(eve.update("db", func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "healthCheck") }))
	s.Must(expected(eve.update("db", to("tcpSocket: {port: admin}")), address, "may not create services"))
	if got := s.approver("db"); got != approved {
		t.Errorf("approved by %q, want %q still", got, approved)
	}
	s.Must(ann.update("db", to("tcpSocket: {port: admin}")))
}

func TestASecretOfAHealthCheckTakesTheRightToReadIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	eve := s.newPerson("eve")
	ann := s.newPerson("ann", `{apiGroups: [""], resources: [secrets], resourceNames: [ca], verbs: [get]}`)
	trusting := func(secret string) string {
		return fmt.Sprintf(`{ports: [{name: web, port: 443}], endpoints: [{name: a, addresses: [%q]}], healthCheck: {httpGet: {scheme: HTTPS}, tls: {caSecretName: %s}}}`, s.Servers.Address(), secret)
	}
	const path = "spec.healthCheck.tls.caSecretName"
	s.Must(expected(eve.create("v1", "web", trusting("ca")), path, `may not get the Secret "ca"`, eve.name, "ask for the right"))
	s.absent("web")
	s.Must(expected(ann.create("v1", "web", trusting("other")), path, `may not get the Secret "other"`, ann.name))
	s.Must(ann.create("v1", "web", trusting("ca")))
	label := func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"note": "reviewed"}) }
	s.Must(eve.update("web", label)) // what stands may stay
	s.Must(expected(eve.update("web", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedField(o.Object, "other", "spec", "healthCheck", "tls", "caSecretName"))
	}), path, `"other"`))
}

func TestANameThatAServiceHasIsRefusedAndThatServiceNeverTaken(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	theirs := func(name string) {
		s.Make(`{apiVersion: v1, kind: Service, metadata: {name: ` + name + `, labels: {owner: another}}, spec: {selector: {app: theirs}, ports: [{port: 80}]}}`)
	}
	outside := s.Servers.Address()
	spec := fmt.Sprintf(`{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [%q]}]}`, outside)
	eve := s.newPerson("eve")
	theirs("taken")
	s.Must(expected(eve.create("v1", "taken", spec), "metadata.name", `a Service "taken" exists`, "choose another name"))
	s.absent("taken")

	// Asleep, the object is stored, and no Service made: another client is first.
	s.Must(eve.create("v1", "late", strings.Replace(spec, "{", "{suspend: true, ", 1)))
	theirs("late")
	s.Must(eve.update("late", func(o *unstructured.Unstructured) {
		s.Must(unstructured.SetNestedField(o.Object, false, "spec", "suspend"))
	}))
	s.condition("late", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonServiceConflict)
	service := s.service("late")
	if len(service.OwnerReferences) > 0 || service.Labels[common.ManagedByLabel] != "" || service.Spec.Selector["app"] != "theirs" || len(s.published("late")) > 0 {
		t.Errorf("a foreign Service was taken: %s", framework.Text(service))
	}
}
