// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// lifelong elects for life, and without waiting where something is polled.
var lifelong = []string{"--set=leaderElection.mode=forLife", "--set=leaderElection.retryPeriod=500ms"}

// bear makes a Node and a Pod that runs on it, by the name that the next replica will have. No kubelet
// looks after them: what happens to them is what the test does.
func (s *suite) bear() string {
	s.Helper()
	name := s.NextReplica()
	s.Cleanup(func() {
		if err := framework.DeletePod(tests.Context, s.Client, name); err != nil {
			s.Errorf("bury %s: %v", name, err)
		}
	})
	s.Must(framework.CreatePod(s.Context(), s.Client, name))
	return name
}

func (s *suite) setPod(name, status string) {
	s.Helper()
	_, err := s.Kube.CoreV1().Pods(framework.Namespace).Patch(s.Context(), name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	s.Must(err)
}

func (s *suite) setNode(name string, ready corev1.ConditionStatus) {
	s.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	s.Kubectl("patch", "node", framework.NodeOf(name), "--subresource=status", "-p", fmt.Sprintf(
		`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test","lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`, ready, now, now))
}

// pair starts two replicas that have Pods. The first leads.
func (s *suite) pair(args ...string) (leader, standby *replica) {
	s.Helper()
	args = append(args, lifelong...)
	var both [2]*replica
	for i := range both {
		name := s.bear()
		if both[i] = s.start(args...); both[i].ID != name {
			s.Fatalf("the replica is called %s, its Pod %s", both[i].ID, name)
		}
		if i == 0 {
			both[0].reconciles()
		}
	}
	s.leadership(both[0], both[1])
	return both[0], both[1]
}

// waits wants a standby to go on waiting, for some of its looks at the lock.
func (r *replica) waits(looks int) {
	r.suite.Helper()
	timer := time.NewTimer(time.Duration(looks) * 500 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.suite.Context().Done():
	}
	if status, err := r.status(); err != nil || status.leads() || status.state("reconcilers") == "done" {
		r.suite.Errorf("%s does not wait any more (%v): %+v", r.ID, err, status)
	}
}

func TestALeaderForLifeIsReplacedWhenItsPodIsAndNotBefore(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	namespace := s.NewNamespace()
	leader, standby := s.pair()
	owners := s.lease().OwnerReferences
	if len(owners) != 1 || owners[0].Kind != "Pod" || owners[0].Name != leader.ID {
		t.Fatalf("the lock is owned by %+v", owners)
	}
	before := s.lease().ResourceVersion

	// The container is restarted: no other replica takes the lock, whatever the time.
	leader.Kill()
	standby.waits(6)
	if s.lease().ResourceVersion != before {
		t.Error("the lock has changed while its holder did not run")
	}
	restarted := time.Now()
	s.Must(leader.Start(t.Context()))
	leader.reconciles()
	t.Logf("a restarted container reconciles %d ms after its start", time.Since(restarted).Milliseconds())
	s.create(namespace, "one")
	s.reconciled(namespace, "one")

	// It is killed, and then its Pod deleted: the garbage collector passes the lock on.
	leader.Kill()
	standby.waits(2)
	deleted := time.Now()
	s.Must(s.Kube.CoreV1().Pods(framework.Namespace).Delete(t.Context(), leader.ID, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
	standby.reconciles()
	t.Logf("the other one reconciles %d ms after the Pod was deleted", time.Since(deleted).Milliseconds())
	s.create(namespace, "two")
	s.reconciled(namespace, "two")
	s.Retire(leader.Replica)

	// And released by SIGTERM, it is taken at once.
	s.bear()
	third := s.start(lifelong...)
	s.leadership(standby, third)
	told := time.Now()
	standby.Stop()
	third.reconciles()
	t.Logf("the next one reconciles within %d ms of SIGTERM, the end of the process included", time.Since(told).Milliseconds())
	s.create(namespace, "three")
	s.reconciled(namespace, "three")
}
