// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// refusedWords are in what the API server says of a refused write.
const refusedWords = "of this namespace is frozen"

// refusedWrite is a write of the operator that something refuses.
type refusedWrite struct {
	group, version, resource, verb string
	// quota refuses it, unless that is empty.
	quota string
}

func (w refusedWrite) String() string { return strings.ToLower(w.verb) + " " + w.resource }

// operatorUser matches the replicas of a suite in CEL.
const operatorUser = `request.userInfo.username.endsWith(":fairlead-manager")`

// refusers make a write of the operator be refused in the namespace, and return what allows it again.
var refusers = map[string]func(*suite, refusedWrite) (allow func()){
	"a policy":        (*suite).refuseByPolicy,
	"a webhook":       (*suite).refuseByWebhook,
	"a quota":         (*suite).refuseByQuota,
	"a missing right": (*suite).refuseByRight,
}

func (s *suite) refuseByPolicy(w refusedWrite) func() {
	s.Helper()
	s.KubectlWith(fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": %[1]q}, "spec": {
		"matchConstraints": {"resourceRules": [{"apiGroups": [%[2]q], "apiVersions": [%[3]q], "operations": [%[4]q], "resources": [%[5]q]}]},
		"matchConditions": [{"name": "operator", "expression": %[6]q}],
		"validations": [{"expression": "false", "message": %[7]q}]}}`, s.Namespace, w.group, w.version, w.verb, w.resource, operatorUser, "what is "+refusedWords), "apply", "-f", "-")
	s.KubectlWith(fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": %[1]q},
		"spec": {"policyName": %[1]q, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": %[1]q}}}}}`,
		s.Namespace), "apply", "-f", "-")
	allow := func() {
		s.Kubectl("delete", "--ignore-not-found", "validatingadmissionpolicybinding,validatingadmissionpolicy", s.Namespace)
	}
	s.Cleanup(func() {
		_, _ = s.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "validatingadmissionpolicybinding,validatingadmissionpolicy", s.Namespace)
	})
	return allow
}

func (s *suite) refuseByWebhook(w refusedWrite) func() {
	s.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(out, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "what is " + refusedWords}}
		_ = json.NewEncoder(out).Encode(review)
	}))
	s.Cleanup(server.Close)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	s.KubectlWith(fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": %[1]q}, "webhooks": [{
		"name": "refuses.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 5,
		"clientConfig": {"url": %[2]q, "caBundle": %[3]q}, "matchConditions": [{"name": "operator", "expression": %[8]q}],
		"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": %[1]q}},
		"rules": [{"apiGroups": [%[4]q], "apiVersions": [%[5]q], "operations": [%[6]q], "resources": [%[7]q]}]}]}`,
		s.Namespace, server.URL, bundle, w.group, w.version, w.verb, w.resource, operatorUser), "apply", "-f", "-")
	s.Cleanup(func() {
		_, _ = s.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "validatingwebhookconfiguration", s.Namespace)
	})
	return func() { s.Kubectl("delete", "validatingwebhookconfiguration", s.Namespace) }
}

func (s *suite) refuseByQuota(w refusedWrite) func() {
	s.Helper()
	s.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: small}, spec: {hard: {"` + w.quota + `": "0"}}}`)
	s.Eventually(func() error {
		if got := s.Kubectl("get", "resourcequota", "small", "-o", "jsonpath={.status.hard}"); got == "" {
			return fmt.Errorf("the quota is not known yet")
		}
		return nil
	})
	return func() { s.Kubectl("delete", "resourcequota", "small") }
}

// refuseByRight takes a verb from the operator's role. A server-side apply is a patch.
func (s *suite) refuseByRight(w refusedWrite) func() {
	s.Helper()
	var role rbacv1.ClusterRole
	s.Must(s.Client.Get(s.Context(), client.ObjectKey{Name: "fairlead-externalservice-manager"}, &role))
	before := role.DeepCopy()
	verb := map[string]string{"CREATE": "create", "UPDATE": "patch", "DELETE": "delete"}[w.verb]
	for i := range role.Rules {
		if rule := &role.Rules[i]; slices.Contains(rule.Resources, w.resource) {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return v == verb })
		}
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
	s.Must(s.Client.Update(s.Context(), &role))
	return func() {
		before.ResourceVersion = ""
		s.Must(s.Client.Update(s.Context(), before))
	}
}

// operatorWrites are the writes of the controller for an object that is published already.
var operatorWrites = []refusedWrite{
	{"", "v1", "services", "UPDATE", ""},
	{"discovery.k8s.io", "v1", "endpointslices", "CREATE", "count/endpointslices.discovery.k8s.io"},
	{"discovery.k8s.io", "v1", "endpointslices", "UPDATE", ""},
	{"discovery.k8s.io", "v1", "endpointslices", "DELETE", ""},
	{"networking.fairlead.dev", "v1", "externalservices/status", "UPDATE", ""},
}

// refusalCase is one write refused by one refuser.
type refusalCase struct {
	refuser string
	write   refusedWrite
}

func refusalCases(writes []refusedWrite) (all []refusalCase) {
	for _, write := range writes {
		for _, refuser := range []string{"a policy", "a webhook", "a quota"} {
			if refuser != "a quota" || write.quota != "" {
				all = append(all, refusalCase{refuser, write})
			}
		}
	}
	return all
}

// An object fails over, and its edit is carried out, whichever write of it is refused: all but that one is done, the object
// says so in the API server's words, and when the write is allowed everything is as if it had never been refused.
func TestARefusedWriteStopsNothingElse(t *testing.T) {
	t.Parallel()
	for _, test := range framework.Sample(framework.NewSampler(t), 4, refusalCases(operatorWrites)) {
		t.Run(test.write.String()+" by "+test.refuser, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.MayBeRefusedIn(s.Namespace)
			s.failsOverAlthoughRefused(test)
		})
	}
}

// failsOverAlthoughRefused publishes an object whose priorities have slices of their own, has a write refused, and then edits
// the object and fails its primary.
func (s *suite) failsOverAlthoughRefused(test refusalCase) {
	s.Helper()
	primary, backup, port := s.Servers.Address(), s.Servers.Address(), 7001
	if test.write.resource == "endpointslices" && test.write.verb == "UPDATE" {
		port = 7000 // then both have the same slice
	}
	down := s.server(s.Servers.TCP(primary + ":7000"))
	s.server(s.Servers.TCP(fmt.Sprintf("%s:%d", backup, port)))
	spec := fmt.Sprintf(`ports: [{name: p, port: 7000}], healthCheck: {tcpSocket: {}, %s}, endpoints: [{name: p0, addresses: [%s]},
		{name: p1, priority: 1, addresses: [%s], ports: [{name: p, port: %d}]}]`, often, primary, backup, port)
	s.apply("db", `{`+spec+`}`)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.healthy("db", primary)
	s.publishes("db", primary)

	allow := refusers[test.refuser](s, test.write)
	s.Eventually(func() error { return s.isRefused(test) })
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, down)
	s.apply("db", `{service: {labels: {team: db}}, `+spec+`}`)
	labeled := func() error {
		if got := s.service("db").Labels["team"]; got != "db" {
			return fmt.Errorf("the Service has team=%q", got)
		}
		return nil
	}
	if test.write.verb == "CREATE" || port == 7000 && test.refuser == "a missing right" {
		s.publishes("db") // who may not patch a slice may not apply a new one
	} else {
		s.publishes("db", backup)
	}
	if test.write.resource != "services" {
		s.Eventually(labeled)
	}
	if port != 7000 || test.refuser == "a missing right" { // what may not be changed is deleted, and created
		s.tellsRefusal("db", test.refuser, strings.HasSuffix(test.write.resource, "/status"))
	}

	allow()
	s.publishes("db", backup)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.active("db", 1)
	s.Must(labeled())
	if all := s.Slices("db"); len(all) != 1 || int(*all[0].Ports[0].Port) != port {
		s.Errorf("slices %s", framework.Text(all))
	}
}

// tellsRefusal waits until an object says what was refused, in its condition and one event, at its generation. Where the
// status itself is refused, the event says so alone.
func (s *suite) tellsRefusal(name, refuser string, ofStatus bool) {
	s.Helper()
	words := refusedWords
	switch refuser {
	case "a quota":
		words = "exceeded quota: small"
	case "a missing right":
		words = "forbidden: User"
	}
	if !ofStatus {
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonWriteRefused)
		s.Expect(s.message(name, networkingv1.ConditionReady), words)
		if es, err := s.get(name); err != nil || es.Status.ObservedGeneration != es.Generation {
			s.Errorf("%v: generation %d is observed of %d", err, es.Status.ObservedGeneration, es.Generation)
		}
	}
	events := s.Tells("ExternalService", name, networkingv1.ReasonWriteRefused, 1)
	s.Expect(events[0].Note, words)
}

// isRefused returns nil once the API server refuses the write: it learns of policies and webhooks a moment later.
func (s *suite) isRefused(test refusalCase) error {
	if test.refuser == "a quota" {
		return nil
	}
	s.Helper()
	operator, err := framework.NewClient(s.Operator().Kubeconfig)
	s.Must(err)
	err = s.dryRun(operator, test.write)
	if err == nil || !strings.Contains(err.Error(), refusedWords) && test.refuser != "a missing right" {
		return fmt.Errorf("%s is not refused yet: %w", test.write, err)
	}
	return nil
}

// dryRun makes a write without effect.
func (s *suite) dryRun(c client.Client, w refusedWrite) error {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: s.Namespace, Name: "db"}
	var object client.Object
	switch {
	case strings.HasPrefix(w.resource, "externalservices"):
		object = &networkingv1.ExternalService{ObjectMeta: meta}
	case w.resource == "services":
		object = &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	default:
		object = &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4}
		if all := s.Slices("db"); w.verb != "CREATE" && len(all) > 0 {
			object = &all[0]
		}
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"dry": "run"}}}`))
	switch {
	case w.verb == "CREATE":
		return c.Create(s.Context(), object, client.DryRunAll)
	case w.verb == "DELETE":
		return c.Delete(s.Context(), object, client.DryRunAll)
	case strings.HasSuffix(w.resource, "/status"):
		return c.Status().Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"status": {"clusterIP": "10.0.0.255"}}`)), client.DryRunAll)
	}
	return c.Patch(s.Context(), object, patch, client.DryRunAll)
}

func TestAnObjectThatCannotBePublishedSaysSo(t *testing.T) {
	t.Parallel()
	creations := []refusedWrite{
		{"", "v1", "services", "CREATE", "count/services"},
		{"discovery.k8s.io", "v1", "endpointslices", "CREATE", "count/endpointslices.discovery.k8s.io"},
	}
	for _, test := range framework.Sample(framework.NewSampler(t), 2, refusalCases(creations)) {
		t.Run(test.write.String()+" by "+test.refuser, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.MayBeRefusedIn(s.Namespace)
			addresses, _ := s.tcp(7000, 1)
			allow := refusers[test.refuser](s, test.write)
			s.Eventually(func() error { return s.isRefused(test) })
			s.apply("db", priorities("", addresses))
			s.tellsRefusal("db", test.refuser, false)
			s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
			if counts := s.status("db").Addresses; counts == nil || counts.Healthy != 1 || counts.Published != 0 {
				t.Errorf("counts %s", framework.Text(counts))
			}
			allow()
			s.publishes("db", addresses...)
			s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		})
	}
}
