// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestALockForLifeThatAnAdministratorDeletesIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	leader, standby := s.pair()
	for range 5 {
		s.Must(s.Kube.CoordinationV1().Leases(framework.Namespace).Delete(t.Context(), leaseName, metav1.DeleteOptions{}))
		s.Eventually(func() error {
			_, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(t.Context(), leaseName, metav1.GetOptions{})
			return err
		})
	}
	s.leadership(leader, standby)
	if leader.PID() == 0 {
		t.Error("the leader has ended")
	}
}

func TestAnEvictedLeaderForLifeIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	leader, standby := s.pair()
	leader.Kill()
	s.setPod(leader.ID, `{"status":{"phase":"Failed","reason":"Evicted"}}`)
	evicted := time.Now()
	standby.reconciles()
	t.Logf("the other one reconciles %d ms after the eviction, while the Pod still exists", time.Since(evicted).Milliseconds())
	if _, err := s.Kube.CoreV1().Pods(framework.Namespace).Get(t.Context(), leader.ID, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if owners := s.lease().OwnerReferences; len(owners) != 1 || owners[0].Name != standby.ID {
		t.Errorf("the lock is owned by %+v", owners)
	}
}

func TestALeaderForLifeOnALostNodeIsReplacedOnceAnAdministratorSaysThatTheNodeIsOff(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	leader, standby := s.pair()
	leader.Kill()
	node := framework.NodeOf(leader.ID)
	s.setNode(leader.ID, corev1.ConditionUnknown)
	s.setPod(leader.ID, `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	standby.waits(4)

	s.Kubectl("delete", "pod", leader.ID, "-n", framework.Namespace, "--wait=false")
	standby.waits(4) // it may run on, as far as anybody knows
	s.Kubectl("taint", "node", node, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
	standby.reconciles() // once the collector of pods has deleted it
}

func TestALeaderForLifeWhosePodIsDeletedByForceStopsAndSaysWhy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	leader, standby := s.pair()
	s.Must(s.Kube.CoreV1().Pods(framework.Namespace).Delete(t.Context(), leader.ID, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
	code, output := leader.ends(framework.Patience)
	s.complains(code, output, "leader election lost")
	standby.reconciles()
	if !strings.Contains(output, "own Pod is gone") && !strings.Contains(output, "held by another replica") {
		t.Errorf("it does not say why:\n%s", output)
	}
}

func TestWithoutAPodElectionForLifeEndsTheStartWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	code, output := s.launch(lifelong...).ends(framework.Patience)
	s.complains(code, output, "there is no Pod "+framework.Namespace+"/replica-", "POD_NAME", "leaderElection.mode: lease")
	if _, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(t.Context(), leaseName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it has taken the lock all the same: %v", err)
	}
}
