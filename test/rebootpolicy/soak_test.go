// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestNothingIsRestartedThatCouldNotStart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.secret("required", "key", "value")
	s.secret("optional", "key", "value")
	const pod = `{containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}, {secretRef: {name: optional, optional: true}}]}],
		volumes: [{name: v, secret: {secretName: required}}]}`
	s.run(deployment, "web", pod)
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.policy("by-hand", "{"+targets(deployment, "web")+", triggers: [{name: yearly, type: Schedule, schedule: {cron: 0 0 1 1 *}}]}")
	s.watching("p", 1)
	s.watching("by-hand", 1)
	s.Delete("v1", "Secret", "required")
	s.Delete("v1", "Secret", "optional")
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonSourceMissing)
	s.annotate("by-hand", autorebootv1.RestartNowAnnotation, "token")
	s.held("by-hand", "web", autorebootv1.ReasonSourceMissing)
	s.Never(func() error {
		if g := s.read(deployment, "web").GetGeneration(); g != 1 {
			return fmt.Errorf("restarted: generation %d", g)
		}
		return nil
	})
	s.set("by-hand", "{suspend: true}")
	s.secret("required", "key", "value")
	s.succeeded("p", 1)
	s.without("p", autorebootv1.ConditionWaiting)
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionTrue, autorebootv1.ReasonStayedAvailable)
}
