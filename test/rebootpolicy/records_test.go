// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// recordDenials refuse what the operator writes down: the status of policy p alone, and every Event of the namespace.
func recordDenials() (statuses, events []framework.Denial) {
	status := framework.Write{Group: "autoreboot.fairlead.dev", Version: "v1", Resource: "rebootpolicies/status", Operation: "UPDATE"}
	event := framework.Write{Group: "events.k8s.io", Version: "v1", Resource: "events", Operation: "CREATE"}
	for _, reason := range []string{"Invalid", "Forbidden", "RequestEntityTooLarge"} {
		statuses = append(statuses, framework.PolicyDenial(reason, status, `object.metadata.name == "p"`))
		events = append(events, framework.PolicyDenial(reason, event, "true"))
	}
	return append(statuses, framework.WebhookDenial(status, `object.metadata.name == "p"`)),
		append(events, framework.WebhookDenial(event, "true"))
}

func TestARecordThatTheAPIServerRefusesStopsNothingElse(t *testing.T) {
	t.Parallel()
	statuses, events := recordDenials()
	sampler := framework.NewSampler(t)
	for _, d := range framework.Sample(sampler, 1, statuses) {
		t.Run("status/"+d.Name, func(t *testing.T) { refusesStatus(t, d) })
	}
	for _, d := range framework.Sample(sampler, 1, events) {
		t.Run("event/"+d.Name, func(t *testing.T) { refusesEvents(t, d) })
	}
}

// refusesStatus wants a policy whose status cannot be stored to say so and to restart nothing, since it would forget that
// it did, and the restart to follow.
func refusesStatus(t *testing.T, d framework.Denial) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.run(deployment, "beside", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.policy("other", "{"+targets(deployment, "beside")+", "+onConfig+"}")
	s.watching("p", 1)
	s.watching("other", 1)
	d.Put(&s.Test)
	s.Eventually(func() error {
		return s.isRefused(d, "", "patch", "rebootpolicy", "p", "--subresource=status", "--type=merge", "-p", `{"status": {"handledRestartNow": "x"}}`, "--dry-run=server")
	})
	s.secret("creds", "password", "second")
	s.succeeded("other", 1)
	for _, event := range s.Tells("RebootPolicy", "p", "WriteRefused", 1) {
		if !strings.Contains(event.Note, d.Words) {
			t.Errorf("the Event says %q, want %q", event.Note, d.Words)
		}
	}
	s.restarted(deployment, "web", 0)
	d.Lift(&s.Test)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

// refusesEvents wants each kind to go on where no Event can be written.
func refusesEvents(t *testing.T, d framework.Denial) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	d.Put(&s.Test)
	s.Eventually(func() error {
		return s.isRefused(d, `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: tried}, eventTime: "2026-01-01T00:00:00.000000Z", action: Try,
			reason: Tried, type: Normal, reportingController: example.com/test, reportingInstance: a, regarding: {kind: Deployment, name: web, namespace: `+s.Namespace+`}}`,
			"create", "--dry-run=server", "-f", "-")
	})
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.Apply(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: db}, spec: {ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}}`)
	s.Apply(`{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: c}, spec: {target: {workload: {kind: Deployment, name: web}}, schedule: {cron: "0 0 1 1 *"}}}`)
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	for kind, name := range map[string]string{"externalservice": "db", "chaospod": "c"} {
		s.Eventually(func() error {
			if ready := s.Kubectl("get", kind, name, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].status}"); ready != string(metav1.ConditionTrue) {
				return fmt.Errorf("%s is %q", kind, ready)
			}
			return nil
		})
	}
	if told := s.Told("RebootPolicy", "p"); len(told) > 0 {
		t.Errorf("Events were written: %s", framework.Text(told))
	}
	d.Lift(&s.Test)
	s.secret("creds", "password", "third")
	s.succeeded("p", 2)
	s.Eventually(func() error { // what was refused a moment ago may come too
		if told := s.Told("RebootPolicy", "p"); len(told["RestartVerified"]) == 0 {
			return fmt.Errorf("the Events are %s", framework.Text(told))
		}
		return nil
	})
	if slices := s.Slices("db"); len(slices) != 1 {
		t.Errorf("%d EndpointSlices of db", len(slices))
	}
}

// isRefused returns an error until the API server refuses a command in the words of a denial.
func (s *suite) isRefused(d framework.Denial, stdin string, args ...string) error {
	s.Helper()
	_, told, err := s.Try(stdin, args...)
	if err == nil || !strings.Contains(told, d.Words) {
		return fmt.Errorf("%s is not in force yet: %q", d.Name, told)
	}
	return nil
}
