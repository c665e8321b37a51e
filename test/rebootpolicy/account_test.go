// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// What was forbidden is tried again after a minute: this test is the first to begin.
func TestAServiceAccountRestartsWhatItMayAndNoMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		strategy, rule, words string
		rollouts              int
	}{
		"patch": {"", "{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}", "cannot patch resource", 1},
		"evict": {"strategy: {type: Evict}, ", `{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`, "cannot create resource", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.MayBeRefusedIn(s.Namespace)
			s.secret("creds", "password", "first")
			s.run(deployment, "web", takes("creds"))
			s.Make("{apiVersion: v1, kind: ServiceAccount, metadata: {name: restarter}}")
			s.policy("p", "{"+targets(deployment, "web")+", "+c.strategy+onConfig+", serviceAccountName: restarter}")
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if len(st.Targets) != 1 {
					return fmt.Errorf("the target is not known yet")
				}
				return nil
			})
			// The operator may act as no ServiceAccount but those that it is given.
			s.Grant("impersonator", "{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}",
				`{apiGroups: [""], resources: [serviceaccounts], resourceNames: [restarter], verbs: [impersonate]}`)
			s.secret("creds", "password", "second")
			s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonForbidden)
			s.Eventually(func() error { // at first it may not impersonate, which the API server learns of a moment later
				policy, err := s.get("p")
				if err != nil {
					return err
				}
				return framework.Holds(framework.Text(policy.Status.Conditions), c.words, "restarter")
			})
			s.restarted(deployment, "web", 0)
			s.Grant("restarter", "{kind: ServiceAccount, name: restarter, namespace: "+s.Namespace+"}", c.rule)
			s.succeeded("p", 1)
			s.condition("p", autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching)
			s.restarted(deployment, "web", c.rollouts)
		})
	}
}

// The API server lets a ServiceAccount be impersonated that does not exist any more, with all that it was granted.
func TestADeletedServiceAccountRestartsNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.Make("{apiVersion: v1, kind: ServiceAccount, metadata: {name: restarter}}")
	s.Grant("impersonator", "{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}",
		`{apiGroups: [""], resources: [serviceaccounts], resourceNames: [restarter], verbs: [impersonate]}`)
	s.Grant("restarter", "{kind: ServiceAccount, name: restarter, namespace: "+s.Namespace+"}", "{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}")
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", serviceAccountName: restarter}")
	s.watching("p", 1)
	s.Delete("v1", "ServiceAccount", "restarter")
	s.secret("creds", "password", "second")
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonForbidden)
	s.explains("p", autorebootv1.ConditionReady, "the ServiceAccount does not exist")
	s.restarted(deployment, "web", 0)
}
