// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// An operator of the workload's own keeps its template as it wants it.
func TestAnOwnerThatTakesARestartBackIsNotFought(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), slow("1s"), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", retry: {maxAttempts: 3, backoff: 1s, maxBackoff: 1s}}")
	s.watching("p", 1)
	reverted := s.owner("web")

	s.secret("creds", "password", "second")
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonTargetReverted)
	s.Tells("RebootPolicy", "p", "TargetReverted", 1)
	history := s.ended("p", 1)
	if history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonTargetReverted {
		t.Errorf("want Failed, TargetReverted: %s", framework.Text(history))
	}
	s.secret("creds", "password", "third")
	s.held("p", "web", autorebootv1.ReasonHalted)
	s.Never(func() error {
		// The restart, and its end.
		if g := s.read(deployment, "web").GetGeneration(); g != 3 {
			return fmt.Errorf("generation %d, want 3", g)
		}
		return nil
	})
	if n := reverted(); n != 1 {
		t.Errorf("the owner had to revert %d times", n)
	}
}

func TestAPolicyThatGoesAwayLeavesTheRolloutAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), slow(longRollout), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	id := s.restartID(deployment, "web")
	s.Delete(autorebootv1.GroupVersion.String(), "RebootPolicy", "p")
	s.Eventually(func() error {
		if _, err := s.get("p"); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the policy is still there: %v", err)
		}
		return nil
	})
	s.available(deployment, "web")
	s.secret("creds", "password", "third")
	s.Never(func() error {
		if now := s.restartID(deployment, "web"); now != id {
			return fmt.Errorf("the template carries restart %q, want %q", now, id)
		}
		return nil
	})
	s.restarted(deployment, "web", 1)
	own := fmt.Sprintf("namespace=%q", s.Namespace)
	s.Eventually(func() error {
		if rows := s.Samples().Rows("fairlead_rebootpolicy_waiting", own); len(rows) > 0 {
			return fmt.Errorf("left behind: %q", rows)
		}
		return nil
	})
}

// A controller of progressive delivery scales the workload to zero for good, and runs its pods elsewhere.
func TestAWorkloadThatAnotherControllerScaledToZeroNamesIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{targets: [{kind: Deployment, name: web}], "+onConfig+"}")
	s.watching("p", 1)
	web := s.Object("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}")
	s.Must(s.Client.Patch(s.Context(), web, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`)), client.FieldOwner("flagger")))
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonScaledToZero)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
		if c == nil || !strings.Contains(c.Message, "the workload is ScaledToZero by flagger") {
			return fmt.Errorf("Waiting is %+v", c)
		}
		return nil
	})
}
