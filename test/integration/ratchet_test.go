// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// unchecked does something while the validating webhooks do not look at the namespace, as it was
// before they were installed.
func (s *suite) unchecked(do func()) {
	s.Helper()
	const values = "/webhooks/0/namespaceSelector/matchExpressions/0/values"
	change := func(operation map[string]any) {
		for _, name := range framework.WebhookConfigurations {
			s.run("patch", "validatingwebhookconfiguration", name, "--type=json", "-p", framework.Text([]any{operation}))
		}
	}
	probe := func() error {
		return s.try("create", "--dry-run=server", "-f", "-", "--", externalServices.object("v1", "probe", reserved)).failure
	}
	change(map[string]any{"op": "add", "path": values + "/-", "value": s.Namespace})
	s.Eventually(probe)
	do()
	shipped := slices.DeleteFunc(s.excluded(), func(namespace string) bool { return namespace == s.Namespace })
	change(map[string]any{"op": "replace", "path": values, "value": shipped})
	s.Eventually(func() error {
		if probe() == nil {
			return fmt.Errorf("the validating webhook does not look at %s again", s.Namespace)
		}
		return nil
	})
}

// excluded are the namespaces that the validating webhooks do not look at.
func (s *suite) excluded() []string {
	s.Helper()
	out := s.run("get", "validatingwebhookconfiguration", "fairlead-externalservice", "-o", "jsonpath={.webhooks[0].namespaceSelector.matchExpressions[0].values}")
	var namespaces []string
	s.Must(json.Unmarshal([]byte(out), &namespaces))
	return namespaces
}

// reserved breaks a rule that only the webhook knows, twice.
const reserved = `{service: {labels: {service.kubernetes.io/service-proxy-name: mine, other.kubernetes.io/one: two}}, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`

func TestAnObjectOlderThanARuleCanBeEditedTowardsValid(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.unchecked(func() {
		s.apply(externalServices.object("v1", "old", reserved))
		s.apply(rebootPolicies.object("v1", "old", `{targets: [{kind: Deployment, name: web}], triggers: [{name: t, type: Schedule, schedule: {cron: "0 3 * * 0", timeZone: Europe/Atlantis}}]}`))
	})
	patch := func(args ...string) []string {
		return append([]string{"patch", "extsvc", "old", "--type=merge", "-p"}, args...)
	}

	// What does not touch the spec is not judged.
	s.run(patch(`{"status":{"activePriority":3}}`, "--subresource=status")...)
	s.run(patch(`{"metadata":{"finalizers":["example.com/hold"]}}`)...)
	s.run(patch(`{"metadata":{"labels":{"touched":"yes"},"annotations":{"touched":"yes"}}}`)...)

	// Neither is an edit beside the fault, at either version.
	s.run(patch(`{"spec":{"suspend":true}}`)...)
	s.run("patch", externalServices.at("v1alpha1"), "old", "--type=merge", "-p", `{"spec":{"ports":[{"name":"sql","port":5433}]}}`)
	s.run("patch", "rbp", "old", "--type=merge", "-p", `{"spec":{"suspend":true}}`)

	// Another fault is, also in the place of the old one.
	s.refused([]string{"spec.endpoints[0].dns.name"}, patch(`{"spec":{"endpoints":[{"name":"a","dns":{"name":"localhost."}}]}}`)...)
	s.refused([]string{"third.kubernetes.io/one"}, patch(`{"spec":{"service":{"labels":{"third.kubernetes.io/one":"x"}}}}`)...)
	s.refused([]string{"spec.triggers[0].schedule.timeZone", "Europe/Lemuria"}, "patch", "rbp", "old", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/triggers/0/schedule/timeZone","value":"Europe/Lemuria"}]`)

	// One fault less is welcome, and so is none.
	s.run(patch(`{"spec":{"service":{"labels":{"other.kubernetes.io/one":null}}}}`)...)
	s.refused([]string{"other.kubernetes.io/one"}, patch(`{"spec":{"service":{"labels":{"other.kubernetes.io/one":"two"}}}}`)...)
	s.run(patch(`{"spec":{"service":{"labels":{"service.kubernetes.io/service-proxy-name":null}},"suspend":false}}`)...)
	s.run("patch", "rbp", "old", "--type=json", "-p", `[{"op":"replace","path":"/spec/triggers/0/schedule/timeZone","value":"Europe/Zurich"}]`)
	s.settled("old", "True", "Published")
	s.run(patch(`{"metadata":{"finalizers":null}}`)...)
}

// Not beside the test above: both edit the registration.
func TestAnInvalidStoredObjectCanAlwaysBeDeleted(t *testing.T) {
	s := newSuite(t)
	s.unchecked(func() {
		s.apply(externalServices.object("v1", "doomed", reserved))
		s.apply(externalServices.object("v1", "held", reserved))
		s.run("patch", "extsvc", "held", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	})
	s.run("delete", "extsvc", "doomed", "--timeout="+framework.Patience.String())
	s.run("delete", "extsvc", "held", "--wait=false")
	s.run("patch", "extsvc", "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	s.run("wait", "--for=delete", "extsvc/held", "--timeout="+framework.Patience.String())
}
