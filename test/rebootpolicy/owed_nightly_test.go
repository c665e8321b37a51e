// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// If a policy's memory is lost, as after its deletion under another leader, the pods show which restarts it owes.
func TestANewPolicyNamesWorkloadsThatAreOlderThanTheirConfiguration(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "older", takes("creds"))
	s.nextSecond()
	s.secret("creds", "password", "second")
	s.nextSecond()
	s.run(deployment, "newer", takes("creds"))
	s.policy("p", "{targets: [{kind: Deployment, name: older}, {kind: Deployment, name: newer}], "+onConfig+"}")
	s.watching("p", 2)
	if told := s.Tells("RebootPolicy", "p", "PodsOutdated", 1); !strings.Contains(told[0].Note, "Deployment older") {
		t.Errorf("told %s", framework.Text(told))
	}
	s.restarted(deployment, "older", 0)
	s.restarted(deployment, "newer", 0)
}

// TestADeployDuringARestartIsVerifiedAsThatOne replaces a template while its restart rolls out, as a pipeline does.
func TestADeployDuringARestartIsVerifiedAsThatOne(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "first", takes("creds"), slow("5s"))
	s.run(deployment, "second", takes("creds"))
	s.policy("p", "{targets: [{kind: Deployment, name: first}, {kind: Deployment, name: second, wave: 1}], "+onConfig+"}")
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	// A deploy knows nothing of the annotations.
	s.Merge("apps/v1", deployment, "first", `{spec: {template: {metadata: {annotations: {autoreboot.fairlead.dev/restart-id: null, kubectl.kubernetes.io/restartedAt: null}},
		spec: {containers: [{name: main, image: other, envFrom: [{secretRef: {name: creds}}]}]}}}}`)
	history := s.succeeded("p", 2)
	if own := of(history, "first"); len(own) != 1 || own[0].Message == "" {
		t.Errorf("%s", framework.Text(history))
	}
	s.without("p", autorebootv1.ConditionStalled)
	s.restarted(deployment, "second", 1)
}

// TestAPolicyThatIsReplacedByForceGoesOn deletes a policy and creates it again while one of its targets rolls out and the
// other waits for it.
func TestAPolicyThatIsReplacedByForceGoesOn(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "first", takes("creds"), slow("5s"))
	s.run(deployment, "second", takes("creds"))
	manifest := s.manifest("p", "{targets: [{kind: Deployment, name: first}, {kind: Deployment, name: second, wave: 1}], "+onConfig+"}")
	s.Apply(manifest)
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	s.Must(s.Client.Delete(s.Context(), s.Object(manifest), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.Must(s.Client.Create(s.Context(), s.Object(manifest)))
	s.succeeded("p", 2)
	s.restarted(deployment, "first", 1)
	s.restarted(deployment, "second", 1)
}
