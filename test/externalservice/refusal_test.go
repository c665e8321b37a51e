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
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
	"a policy":  (*suite).refuseByPolicy,
	"a webhook": (*suite).refuseByWebhook,
	"a quota":   (*suite).refuseByQuota,
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
			primary, backup, port := s.Servers.Address(), s.Servers.Address(), 7001
			if test.write.resource == "endpointslices" && test.write.verb == "UPDATE" {
				port = 7000 // then both have the same slice
			}
			down := s.server(s.Servers.TCP(primary + ":7000"))
			s.server(s.Servers.TCP(fmt.Sprintf("%s:%d", backup, port)))
			spec := fmt.Sprintf(`ports: [{name: p, port: 7000}], healthCheck: {tcp: {}, %s}, endpoints: [{name: p0, addresses: [%s]},
				{name: p1, priority: 1, addresses: [%s], ports: [{name: p, port: %d}]}]`, often, primary, backup, port)
			s.apply("db", `{`+spec+`}`)
			s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
			s.healthy("db", primary)
			s.publishes("db", primary)

			allow := refusers[test.refuser](s, test.write)
			s.Eventually(func() error { return s.isRefused(test) })
			s.set(externalnet.Behavior{Fault: externalnet.Refuse}, down)
			s.apply("db", `{service: {labels: {team: db}}, `+spec+`}`)
			ofStatus := strings.HasSuffix(test.write.resource, "/status")
			want := []string{backup}
			if test.write.verb == "CREATE" {
				want = nil
			}
			s.publishes("db", want...)
			if test.write.resource != "services" {
				s.Eventually(func() error {
					if got := s.service("db").Labels["team"]; got != "db" {
						return fmt.Errorf("the Service has team=%q", got)
					}
					return nil
				})
			}
			if port != 7000 { // what may not be changed is deleted
				s.tellsRefusal("db", test.refuser, ofStatus)
			}

			allow()
			s.publishes("db", backup)
			s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
			s.active("db", 1)
			if got := s.service("db").Labels["team"]; got != "db" {
				t.Errorf("the Service has team=%q", got)
			}
			if all := s.Slices("db"); len(all) != 1 || int(*all[0].Ports[0].Port) != port {
				t.Errorf("slices %s", framework.Text(all))
			}
		})
	}
}

// tellsRefusal waits until an object says what was refused, in its condition and one event, at its generation. Where the
// status itself is refused, the event says so alone.
func (s *suite) tellsRefusal(name, refuser string, ofStatus bool) {
	s.Helper()
	words := refusedWords
	if refuser == "a quota" {
		words = "exceeded quota: small"
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
	if err == nil || !strings.Contains(err.Error(), refusedWords) {
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
			s.apply("db", tiers("", addresses))
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

func TestAGameDayEndsAlthoughTheServiceIsRefused(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	s.MayBeRefusedIn(s.Namespace)
	addresses, _ := s.tcp(7000, 2)
	s.apply("db", tiers("", addresses[:1], addresses[1:]))
	s.healthy("db", addresses[0])
	s.injects("db", "BlackHole", "10m", time.Now())
	s.publishes("db")
	s.condition("db", networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "BlackHole")
	test := refusalCase{"a policy", operatorWrites[0]}
	allow := s.refuseByPolicy(test.write)
	s.Eventually(func() error { return s.isRefused(test) })
	s.apply("db", tiers(", service: {labels: {team: db}}", addresses[:1], addresses[1:]))
	s.tellsRefusal("db", test.refuser, false)
	s.publishes("db")
	s.Kubectl("annotate", "externalservice", "db", networkingv1.InjectFaultAnnotation+"-")
	s.ended("db", networkingv1.FaultOutcomeWithdrawn)
	s.publishes("db", addresses[0])
	allow()
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
}
