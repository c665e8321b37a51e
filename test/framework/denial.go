// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
)

// Write is a kind of request that changes something: an operation of admission, such as CREATE, of a resource.
type Write struct{ Group, Version, Resource, Operation string }

// Denial is one way in which the API server refuses a write in the namespace of a test.
type Denial struct {
	Name string
	// Words are in what the API server says.
	Words string
	// Put creates it, and Lift ends it.
	Put, Lift func(*Test)
}

// deniedWords is the message of the policies.
const deniedWords = "not on my watch"

// PolicyDenial is a ValidatingAdmissionPolicy, which refuses with the status of its reason: 422 for Invalid. It applies
// where match, in CEL, is true.
func PolicyDenial(reason string, w Write, match string) Denial {
	return Denial{"policy " + reason, deniedWords, func(t *Test) {
		t.Helper()
		t.deletesAfterwards("validatingadmissionpolicy,validatingadmissionpolicybinding")
		t.Apply(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s},
			spec: {failurePolicy: Fail, matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}},
			resourceRules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], resources: [%[4]q], operations: [%[5]s]}]},
			matchConditions: [{name: target, expression: %[6]q}],
			validations: [{expression: "false", message: %[8]q, reason: %[7]s}]}}`,
			t.Namespace, w.Group, w.Version, w.Resource, w.Operation, match, reason, deniedWords))
		t.Apply(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %[1]s},
			spec: {policyName: %[1]s, validationActions: [Deny]}}`, t.Namespace))
	}, func(t *Test) {
		t.Helper()
		t.Kubectl("delete", "--ignore-not-found", "validatingadmissionpolicy,validatingadmissionpolicybinding", t.Namespace)
	}}
}

// WebhookDenial is a webhook that cannot be called, which the API server reports with status 500.
func WebhookDenial(w Write, match string) Denial {
	return Denial{"webhook", "failed calling webhook", func(t *Test) {
		t.Helper()
		t.deletesAfterwards("validatingwebhookconfiguration")
		t.Apply(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: %[1]s}, webhooks: [{
			name: deny.example.com, failurePolicy: Fail, sideEffects: None, admissionReviewVersions: [v1], timeoutSeconds: 1,
			clientConfig: {url: "https://localhost:1/deny"}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}},
			matchConditions: [{name: target, expression: %[6]q}],
			rules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], resources: [%[4]q], operations: [%[5]s]}]}]}`,
			t.Namespace, w.Group, w.Version, w.Resource, w.Operation, match))
	}, func(t *Test) {
		t.Helper()
		t.Kubectl("delete", "--ignore-not-found", "validatingwebhookconfiguration", t.Namespace)
	}}
}

// QuotaDenial is a ResourceQuota that allows no further object of a resource.
func QuotaDenial(resource string) Denial {
	return Denial{"quota", "exceeded quota: full", func(t *Test) {
		t.Helper()
		t.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}, spec: {hard: {"` + resource + `": "0"}}}`)
	}, func(t *Test) {
		t.Helper()
		t.Kubectl("delete", "resourcequota", "full")
	}}
}

// RightDenial is a ServiceAccount without the right, which Lift gives it by the rule of a Role. The operator may
// impersonate it.
func RightDenial(account, rule string) Denial {
	return Denial{"right", "cannot", func(t *Test) {
		t.Helper()
		t.Make("{apiVersion: v1, kind: ServiceAccount, metadata: {name: " + account + "}}")
		t.Grant("impersonator", "{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}",
			`{apiGroups: [""], resources: [serviceaccounts], resourceNames: [`+account+`], verbs: [impersonate]}`)
	}, func(t *Test) {
		t.Helper()
		t.Grant(account, "{kind: ServiceAccount, name: "+account+", namespace: "+t.Namespace+"}", rule)
	}}
}

// deletesAfterwards deletes what has no namespace, also after a test that failed.
func (t *Test) deletesAfterwards(kinds string) {
	t.Helper()
	t.Cleanup(func() {
		_, _ = t.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", kinds, t.Namespace)
	})
}
