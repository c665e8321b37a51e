// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// denial is one way in which the API server refuses a write in the namespace of a test.
type denial struct {
	name, reason, words string
	// put creates it, for the namespace of the test alone, and lift ends it.
	put, lift func(*suite)
}

// policyDenial is a ValidatingAdmissionPolicy, which refuses with the status of its reason: 422 for Invalid.
func policyDenial(name, reason, groups, versions, resources, operation, match string) denial {
	d := denial{name: name, reason: autorebootv1.ReasonWriteRefused, words: "not on my watch"}
	if reason == "Forbidden" {
		d.reason = autorebootv1.ReasonForbidden
	}
	d.put = func(s *suite) {
		s.Helper()
		s.Apply(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s},
			spec: {failurePolicy: Fail, matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}},
			resourceRules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], resources: [%[4]q], operations: [%[5]s]}]},
			matchConditions: [{name: target, expression: %[6]q}],
			validations: [{expression: "false", message: "not on my watch", reason: %[7]s}]}}`, s.Namespace, groups, versions, resources, operation, match, reason))
		s.Apply(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %[1]s},
			spec: {policyName: %[1]s, validationActions: [Deny]}}`, s.Namespace))
	}
	d.lift = func(s *suite) {
		s.Helper()
		s.Kubectl("delete", "--ignore-not-found", "validatingadmissionpolicy/"+s.Namespace, "validatingadmissionpolicybinding/"+s.Namespace)
	}
	return d
}

// webhookDenial is a webhook that cannot be called, which the API server reports with status 500.
func webhookDenial(name, groups, versions, resources, operation, match string) denial {
	d := denial{name: name, reason: autorebootv1.ReasonWriteRefused, words: "failed calling webhook"}
	d.put = func(s *suite) {
		s.Helper()
		s.Apply(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: %[1]s}, webhooks: [{
			name: deny.example.com, failurePolicy: Fail, sideEffects: None, admissionReviewVersions: [v1], timeoutSeconds: 1,
			clientConfig: {url: "https://localhost:1/deny"}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}},
			matchConditions: [{name: target, expression: %[6]q}],
			rules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], resources: [%[4]q], operations: [%[5]s]}]}]}`, s.Namespace, groups, versions, resources, operation, match))
	}
	d.lift = func(s *suite) {
		s.Helper()
		s.Kubectl("delete", "--ignore-not-found", "validatingwebhookconfiguration/"+s.Namespace)
	}
	return d
}

// restartDenials refuse the patch of Deployment web alone, and evictions of its pods alone.
func restartDenials() (patches, evictions []denial) {
	const web, pod = `object.metadata.name == "web"`, `object.metadata.name.startsWith("web-")`
	for _, reason := range []string{"Invalid", "Forbidden", "RequestEntityTooLarge"} {
		patches = append(patches, policyDenial("policy "+reason, reason, "apps", "v1", "deployments", "UPDATE", web))
		evictions = append(evictions, policyDenial("policy "+reason, reason, "", "v1", "pods/eviction", "CREATE", pod))
	}
	return append(patches, webhookDenial("webhook", "apps", "v1", "deployments", "UPDATE", web)),
		append(evictions, webhookDenial("webhook", "", "v1", "pods/eviction", "CREATE", pod))
}

// TestARestartThatTheAPIServerRefusesIsToldAndHoldsNothing refuses the restart of one of three workloads in each way.
func TestARestartThatTheAPIServerRefusesIsToldAndHoldsNothing(t *testing.T) {
	t.Parallel()
	patches, evictions := restartDenials()
	sampler := framework.NewSampler(t)
	for _, d := range framework.Sample(sampler, 2, patches) {
		t.Run("patch/"+d.name, func(t *testing.T) { refuses(t, d, "", "may not patch Deployment web: ") })
	}
	for _, d := range framework.Sample(sampler, 2, evictions) {
		t.Run("evict/"+d.name, func(t *testing.T) {
			refuses(t, d, "strategy: {type: Evict}, ", "may not evict the pods of Deployment web: ")
		})
	}
}

func refuses(t *testing.T, d denial, strategy, what string) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.secret("creds", "password", "first")
	for _, name := range []string{"web", "beside", "later", "foreign"} {
		s.run(deployment, name, takes("creds"))
	}
	s.policy("p", `{targets: [{kind: Deployment, name: web}, {kind: Deployment, name: beside}, {kind: Deployment, name: later, wave: 1}],
		concurrency: {maxTargets: 1}, `+strategy+onConfig+"}")
	s.policy("other", "{"+targets(deployment, "foreign")+", "+strategy+onConfig+"}")
	s.watching("p", 3)
	s.watching("other", 1)
	d.put(s)
	s.Eventually(func() error { return s.isDenied(d, strategy != "") })
	s.secret("creds", "password", "second")

	s.succeeded("other", 1)
	status := s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.History) != 2 || len(st.InFlight) > 0 {
			return fmt.Errorf("want the others restarted")
		}
		return nil
	})
	if len(of(status.History, "web")) > 0 || len(of(status.History, "beside")) != 1 || len(of(status.History, "later")) != 1 {
		t.Errorf("history %s", framework.Text(status.History))
	}
	status = s.held("p", "web", d.reason)
	for _, kind := range []string{autorebootv1.ConditionReady, autorebootv1.ConditionRestartPending, autorebootv1.ConditionStalled} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || c.Reason != d.reason || !strings.Contains(c.Message, what) || !strings.Contains(c.Message, d.words) || c.ObservedGeneration != 1 {
			t.Errorf("%s: %s, want %q and %q", kind, framework.Text(c), what, d.words)
		}
	}
	if status.State != autorebootv1.StatePending {
		t.Errorf("state %s", status.State)
	}
	for _, target := range status.Targets {
		if target.Attempts > 0 {
			t.Errorf("%d attempts", target.Attempts)
		}
	}
	s.Tells("RebootPolicy", "p", "RestartRefused", 1)

	d.lift(s)
	s.set("p", "{concurrency: {maxTargets: 100%}}")
	s.succeeded("p", 3)
	s.without("p", autorebootv1.ConditionStalled)
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching)
	s.normal("p")
}

// isDenied returns an error until the API server refuses what d is to refuse.
func (s *suite) isDenied(d denial, evicts bool) error {
	s.Helper()
	args := []string{"annotate", "--dry-run=server", "deployment", "web", "denied=yet"}
	if evicts {
		pod := s.pods("web")[0].Name
		body := fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}, "deleteOptions": {"dryRun": ["All"]}}`, pod, s.Namespace)
		args = []string{"create", "--raw", "/api/v1/namespaces/" + s.Namespace + "/pods/" + pod + "/eviction?dryRun=All", "-f", s.File("eviction.json", body)}
	}
	_, told, err := s.Try("", args...)
	if err == nil || !strings.Contains(told, d.words) {
		return fmt.Errorf("%s is not in force yet: %q", d.name, told)
	}
	return nil
}
