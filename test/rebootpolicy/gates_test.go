// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// server ends with the test.
func (s *suite) server(server *externalnet.Server, err error) *externalnet.Server {
	s.Helper()
	s.Must(err)
	s.Cleanup(server.Close)
	s.Cleanup(s.forget)
	return server
}

// forget deletes what asks the servers of this test before they close: where those of several tests
// close at once, the operator would rightly suspect itself, and hold back what the others wait for.
func (s *suite) forget() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), framework.Patience)
	defer cancel()
	for _, kind := range []client.Object{&autorebootv1.RebootPolicy{}, &networkingv1.ExternalService{}} {
		if err := s.Client.DeleteAllOf(ctx, kind, client.InNamespace(s.Namespace)); err != nil {
			s.Errorf("delete all %T: %v", kind, err)
		}
	}
}

// external applies an ExternalService whose address is checked every second, and waits for what is
// found.
func (s *suite) external(name, address string, port int, status metav1.ConditionStatus) {
	s.Helper()
	s.Apply(fmt.Sprintf(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: %s}, spec: {
		ports: [{name: p, port: %d}], endpoints: [{name: a, addresses: [%s]}], failover: {failbackDelay: 1s},
		healthCheck: {tcpSocket: {}, interval: 1s, unhealthyInterval: 1s, timeout: 1s, jitterPercent: 0, successThreshold: 1, failureThreshold: 1}}}`, name, port, address))
	s.healthy(name, status)
}

// healthy waits until an ExternalService is so.
func (s *suite) healthy(name string, status metav1.ConditionStatus) {
	s.Helper()
	s.Eventually(func() error {
		var es networkingv1.ExternalService
		if err := s.Get(name, &es); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy); c == nil || c.Status != status || c.ObservedGeneration != es.Generation {
			return fmt.Errorf("%s: want Healthy=%s: %s", name, status, framework.Text(es.Status))
		}
		return nil
	})
}

func TestARestartWaitsBehindEveryClosedGate(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.server(s.Servers.TCP(address + ":5432"))
	s.Must(server.Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	s.external("db", address, 5432, metav1.ConditionFalse)
	s.secret("creds", "password", "first")
	s.workload(deployment, "ledger", bare, faulty("unready"))
	s.run(deployment, "month-end", bare)
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+`, gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}},
		{name: ledger, type: Condition, condition: {apiVersion: apps/v1, kind: Deployment, name: ledger}}, {name: no-jobs, type: NoPods, noPods: {selector: {matchLabels: {app: month-end}}}}]}`)
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	closed := func(names, open []string) {
		s.Helper()
		s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
			c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
			if c == nil || c.Status != metav1.ConditionTrue || c.Reason != autorebootv1.ReasonGateClosed {
				return fmt.Errorf("want Waiting GateClosed")
			}
			for _, name := range names {
				if !strings.Contains(c.Message, name) {
					return fmt.Errorf("%q does not name %s", c.Message, name)
				}
			}
			for _, name := range open {
				if strings.Contains(c.Message, name) {
					return fmt.Errorf("%q names %s, which is open", c.Message, name)
				}
			}
			return nil
		})
	}
	closed([]string{"db"}, nil)
	s.Must(server.Set(externalnet.Behavior{}))
	s.healthy("db", metav1.ConditionTrue)
	closed([]string{"ledger"}, []string{"db"})
	s.reform(deployment, "ledger", "{metadata: {labels: {fault: null}}}")
	s.available(deployment, "ledger")
	closed(nil, []string{"db", "ledger"})
	s.normal("p")
	s.restarted(deployment, "web", 0)
	s.Delete("apps/v1", deployment, "month-end")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

func TestTheLimitStopsAPolicyUntilAUserLooks(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", limit: {maxRestarts: 1, within: 1h}}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.secret("creds", "password", "third")
	status := s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonLimitReached)
	if status.Halt == nil || status.Halt.Reason != autorebootv1.ReasonLimitReached || status.Halt.Target.Name != "web" {
		t.Errorf("halt: %s", framework.Text(status.Halt))
	}
	s.Tells("RebootPolicy", "p", "LimitReached", 1)
	s.explains("p", autorebootv1.ConditionStalled, "the restart that waits is for config (Secret/creds, which field manager ")
	s.held("p", "web", autorebootv1.ReasonHalted)
	s.restarted(deployment, "web", 1)
	s.retry("p")
	s.succeeded("p", 2)
	s.without("p", autorebootv1.ConditionStalled)
	s.restarted(deployment, "web", 2)
}

// retry has a person look at a policy that halted, and let it go on.
func (s *suite) retry(name string) {
	s.Helper()
	policy, err := s.get(name)
	s.Must(err)
	if policy.Status.Halt == nil {
		s.Fatalf("%s has not halted: %s", name, framework.Text(policy.Status))
	}
	s.annotate(name, autorebootv1.RetryAnnotation, "after "+string(policy.Status.HandledRetry))
}
