// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const leaseName = "fairlead-manager"

// draining is long enough that the balancer does not send anybody to one that has gone.
const draining = "--set=webhook.drainDelay=2s"

// electing are the durations of an election, in whole seconds.
func electing(lease, renew int) []string {
	return []string{fmt.Sprintf("--set=leaderElection.leaseDuration=%ds", lease), fmt.Sprintf("--set=leaderElection.renewDeadline=%ds", renew), "--set=leaderElection.retryPeriod=500ms"}
}

func (s *suite) lease() *coordinationv1.Lease {
	s.Helper()
	lease, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(s.Context(), leaseName, metav1.GetOptions{})
	s.Must(err)
	return lease
}

// holdLease gives the Lease to another holder, as an administrator may.
func (s *suite) holdLease(holder string) {
	s.Helper()
	now := metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To(int32(60)), RenewTime: &now, AcquireTime: &now}
	raw, err := json.Marshal(map[string]any{"spec": spec})
	s.Must(err)
	_, err = s.Kube.CoordinationV1().Leases(framework.Namespace).Patch(s.Context(), leaseName, types.MergePatchType, raw, metav1.PatchOptions{})
	s.Must(err)
}

// leadership wants one replica to lead and reconcile and the other to wait, whichever way one asks.
func (s *suite) leadership(leader, standby *replica) {
	s.Helper()
	leader.reconciles()
	for r, want := range map[*replica]float64{leader: 1, standby: 0} {
		s.Eventually(func() error {
			if got, err := r.metric("fairlead_leader"); err != nil || got != want {
				return fmt.Errorf("%s: fairlead_leader is %v, want %v (%v)", r.ID, got, want, err)
			}
			return nil
		})
	}
	standby.reaches("election", "running")
	s.Eventually(func() error { // it hears of the leader a moment after it has begun to wait
		status, err := standby.status()
		if err == nil && (status.leads() || status.state("reconcilers") != "pending" || !strings.Contains(status.fact("leader"), leader.ID)) {
			err = fmt.Errorf("the standby shows leader %q and reconcilers %s", status.fact("leader"), status.state("reconcilers"))
		}
		return err
	})
	if holder := ptr.Deref(s.lease().Spec.HolderIdentity, ""); holder != leader.ID {
		s.Errorf("the Lease is held by %q, not by %s", holder, leader.ID)
	}
}

func TestOfTwoReplicasBothAnswerWebhooksAndOneReconciles(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	a := s.start()
	a.reconciles()
	b := s.start()
	s.leadership(a, b)
	for _, r := range []*replica{a, b} {
		s.Must(r.converts())
	}
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	s.Eventually(func() error { return s.announced("LeaderElected", a.ID) })
}

// announced looks for an Event about the Lease.
func (s *suite) announced(reason, replica string) error {
	events, err := s.Kube.CoreV1().Events(framework.Namespace).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if event.Reason == reason && strings.Contains(event.Message, replica) &&
			event.InvolvedObject.Kind == "Lease" && event.InvolvedObject.Name == leaseName {
			return nil
		}
	}
	return fmt.Errorf("none of %d Events says %s of %s", len(events.Items), reason, replica)
}

func TestAReleasedLeaseIsTakenByAStandbyThatIsWarm(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	namespace := s.NewNamespace()
	leader := s.start(draining)
	leader.reconciles()
	standby := s.start(draining)
	s.leadership(leader, standby)
	standby.reaches("caches", "done")
	for round := range 3 {
		stopped := time.Now()
		ended := make(chan struct{})
		go func() { defer close(ended); leader.Stop() }()

		status := standby.reconciles()
		asked := time.Now()
		reconcilers := status.Phases[6]
		reconciling := asked.Add(-time.Duration((status.Seconds - reconcilers.AfterSeconds - reconcilers.Seconds) * float64(time.Second)))
		elected := s.lease().Spec.AcquireTime
		<-ended
		name := fmt.Sprintf("round-%d", round)
		s.create(namespace, name)
		s.reconciled(namespace, name)

		if len(leader.entries("Lease released")) == 0 {
			t.Errorf("%s does not log that it released the Lease", leader.ID)
		}
		took := reconciling.Sub(stopped)
		t.Logf("SIGTERM to the next leader %d ms, to its reconcilers %d ms (target: below 2500 ms)",
			elected.Sub(stopped).Milliseconds(), took.Milliseconds())
		if took > 30*time.Second {
			t.Errorf("the standby reconciles %s after the leader was told to stop", took)
		}
		s.Eventually(func() error { return s.announced("LeaderStopped", leader.ID) })

		s.Must(leader.Start(t.Context()))
		leader, standby = standby, leader
		standby.reaches("election", "running")
	}
}

func TestAKilledLeaderIsFollowedWithinTheLease(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	namespace := s.NewNamespace()
	a := s.start(electing(12, 9)...)
	a.reconciles()
	b := s.start(electing(12, 9)...)
	s.leadership(a, b)
	killed := time.Now()
	a.Kill()
	s.Retire(a.Replica) // as the node would
	s.Must(b.converts())
	b.reconciles()
	took := time.Since(killed)
	t.Logf("took over %d ms after SIGKILL, with a lease of 12 s", took.Milliseconds())
	if took > time.Minute {
		t.Errorf("took over %s after SIGKILL, with a lease of 12 s", took)
	}
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
}

func TestALostLeaseStopsReconcilersAtOnceDrainsTheWebhookAndEndsTheProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose      func(*suite, *framework.Gateway)
		durations []string
		reason    string
	}{
		// What ends the reconcilers is that the renewal is refused: the deadline is too far away.
		"an administrator gives it to another": {func(s *suite, _ *framework.Gateway) { s.holdLease("administrator") }, electing(60, 40), "held by another replica"},
		// And here, that the deadline passed, long before another may take the Lease.
		"it cannot be renewed": {func(_ *suite, g *framework.Gateway) { g.Cut(leases) }, electing(40, 8), "not renewed for 8s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			g := s.newGateway()
			r := s.start(append([]string{"--kubeconfig=" + g.Kubeconfig, "--set=webhook.drainDelay=20s"}, test.durations...)...)
			r.reconciles()
			namespace := s.NewNamespace()
			s.create(namespace, "one")
			s.reconciled(namespace, "one")

			lost := time.Now()
			test.lose(s, g)
			s.Eventually(func() error {
				if value, err := r.metric("fairlead_leader"); err != nil || value != 0 {
					return fmt.Errorf("fairlead_leader is %v (%v)", value, err)
				}
				return nil
			})
			took := time.Since(lost)
			t.Logf("reconcilers told to stop %d ms after the loss", took.Milliseconds())
			if took > 30*time.Second {
				t.Errorf("reconcilers were told to stop %s after the loss", took)
			}
			// What a reconciler would repair at once, no replica repairs any more.
			s.Must(s.Kube.CoreV1().Services(namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}))
			s.Eventually(func() error { // drains: not ready, and still serves
				if _, err := r.Probe(t.Context(), "/readyz"); err == nil || !strings.Contains(err.Error(), "draining") {
					return fmt.Errorf("/readyz: %v", err)
				}
				return nil
			})
			s.Must(r.converts())

			code, output := r.ends(framework.Patience)
			s.complains(code, output, "leader election lost")
			s.Expect(output, test.reason)
			if len(r.entries("Webhook server stopped")) != 1 {
				t.Errorf("the webhook server was not stopped in order:\n%s", output)
			}
			if _, err := s.Kube.CoreV1().Services(namespace).Get(t.Context(), "one", metav1.GetOptions{}); err == nil {
				t.Error("a reconciler wrote after the Lease was lost")
			}
		})
	}
}
