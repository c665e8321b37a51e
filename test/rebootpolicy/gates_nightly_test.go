// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// A fault that is injected on purpose holds the restarts of those that depend on the ExternalService,
// and they go on by themselves when it has ended. One that takes part is not held.
func TestAnInjectedFaultHoldsRestarts(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.server(s.Servers.TCP(address + ":5432"))
	s.external("db", address, 5432, metav1.ConditionTrue)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.run(deployment, "bold", takes("creds"))
	s.run(deployment, "declared", takes("creds"), with("externalservice/db", "metadata", "annotations", common.DependsOnAnnotation))
	const gate = ", gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]}"
	s.policy("web", "{"+targets(deployment, "web")+", "+onConfig+gate)
	s.policy("bold", "{"+targets(deployment, "bold")+", "+onConfig+gate)
	s.policy("declared", "{"+targets(deployment, "declared")+", "+onConfig+"}")
	s.Merge("autoreboot.fairlead.dev/v1", "RebootPolicy", "bold", "{metadata: {annotations: {autoreboot.fairlead.dev/on-injected-fault: Restart}}}")
	s.watching("web", 1)
	s.watching("bold", 1)
	s.watching("declared", 1)
	s.Merge("networking.fairlead.dev/v1", "ExternalService", "db", fmt.Sprintf(`{metadata: {annotations: {networking.fairlead.dev/inject-fault: "BlackHole for=10m at=%s"}}}`, time.Now().UTC().Format(time.RFC3339)))
	s.Eventually(func() error {
		var es networkingv1.ExternalService
		if err := s.Get("db", &es); err != nil {
			return err
		}
		if !es.Status.Fault.Lasts() || es.Status.Addresses.Published > 0 {
			return fmt.Errorf("no fault: %s", framework.Text(es.Status))
		}
		return nil
	})
	s.secret("creds", "password", "second")
	s.succeeded("bold", 1)
	for _, held := range []string{"web", "declared"} {
		s.shows(held, func(st autorebootv1.RebootPolicyStatus) error {
			c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
			if c == nil || c.Reason != autorebootv1.ReasonGateClosed || !strings.Contains(c.Message, "a fault is injected into ExternalService db") {
				return fmt.Errorf("want Waiting GateClosed because of the fault")
			}
			return nil
		})
		s.restarted(deployment, held, 0)
	}
	s.Merge("networking.fairlead.dev/v1", "ExternalService", "db", "{metadata: {annotations: {networking.fairlead.dev/inject-fault: null}}}")
	for _, held := range []string{"web", "declared"} {
		s.succeeded(held, 1)
		s.restarted(deployment, held, 1)
	}
}

func TestCooldownHoldsContentThatComesBackAndNoneThatIsNew(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", cooldown: 1h}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.secret("creds", "password", "third")
	s.succeeded("p", 2)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonCooldown)
	s.normal("p")
	s.restarted(deployment, "web", 2)
	s.set("p", "{cooldown: 0s}")
	s.succeeded("p", 3)
	s.restarted(deployment, "web", 3)
}

func TestAGateThatCannotBeReadIsClosed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+`, gates: [{name: absent, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: absent, type: Healthy}}]}`)
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonGateClosed)
	address := s.Servers.Address()
	s.server(s.Servers.TCP(address + ":5432"))
	s.external("absent", address, 5432, metav1.ConditionTrue)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
