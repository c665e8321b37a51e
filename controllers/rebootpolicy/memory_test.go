// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// recreate deletes the policy and creates it again, as `kubectl replace --force` does. The process sees the deletion or not.
func (s *suite) recreate(seen bool) {
	s.Helper()
	policy := s.object()
	s.must(s.store.Delete(s.Context(), policy))
	if seen {
		s.reconcile()
	}
	policy.UID, policy.ResourceVersion, policy.Generation = policy.UID[1:]+policy.UID[:1], "", 1
	policy.Status = autorebootv1.RebootPolicyStatus{ObservedGeneration: -1}
	s.must(s.store.Create(s.Context(), policy))
}

func TestAPolicyThatIsCreatedAgainGoesOnWhereItEnded(t *testing.T) {
	for name, seen := range map[string]bool{"the deletion is seen": true, "the deletion is not seen": false} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config, deployment("api", 2, nil)...)
			s.reconcile()
			s.changeSource("Secret/creds", "hmac:2")
			s.reconcile()
			s.recreate(seen)
			s.reconcile()
			s.expectCondition(autorebootv1.ConditionWaiting, "True Debouncing")
			if !slices.ContainsFunc(s.all, func(e string) bool { return strings.HasPrefix(e, "StatusKept RebootPolicy") }) {
				t.Errorf("told %q", s.all)
			}
			s.advance(16 * time.Second)
			s.reconcile()
			s.expectActions("Annotate api bcdef012-1")

			s.recreate(seen) // in flight
			s.advance(time.Second)
			s.reconcile()
			s.completeRollout("api")
			s.reconcile()
			s.advance(11 * time.Second)
			s.reconcile()
			s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
			if st := s.object().Status; len(st.History) != 1 || len(st.InFlight) != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestAPolicyThatIsCreatedAgainStartsAnew(t *testing.T) {
	for name, between := range map[string]func(s *suite){
		"where the deletion is long ago": func(s *suite) { s.reconcile(); s.advance(formerFor) },
		"in another process":             func(s *suite) { s.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config, deployment("api", 2, nil)...)
			s.reconcile()
			s.changeSource("Secret/creds", "hmac:2")
			s.reconcile()
			policy := s.object()
			s.must(s.store.Delete(s.Context(), policy))
			between(s)
			policy.UID, policy.ResourceVersion, policy.Status = "fedcba98", "", autorebootv1.RebootPolicyStatus{}
			s.must(s.store.Create(s.Context(), policy))
			s.reconcile()
			s.expectCondition(autorebootv1.ConditionWaiting, "False NothingPending")
			if !slices.ContainsFunc(s.all, func(e string) bool { return strings.HasPrefix(e, "PodsOutdated RebootPolicy") }) {
				t.Errorf("what is owed is not told: %q", s.all)
			}
		})
	}
}

func TestAHaltEndsWithItsPolicy(t *testing.T) {
	s := newSuite(t, config+"limit: {maxRestarts: 1, within: 1h}", deployment("api", 2, nil)...)
	s.reconcile()
	policy := s.object()
	policy.Status.Halt = &autorebootv1.Halt{Halt: common.Halt{Reason: autorebootv1.ReasonLimitReached, Generation: 1}, Target: common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}}
	s.must(s.store.Status().Update(s.Context(), policy))
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionStalled, "True LimitReached")
	s.recreate(true)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionStalled, "")
}

// The policy may have been restored from a backup.
func TestAnAnnotationThatIsThereAtFirstRequestsNothing(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	set := func(token string) {
		s.edit(func(policy *autorebootv1.RebootPolicy) { policy.Annotations[autorebootv1.RestartNowAnnotation] = token })
	}
	set("monday")
	s.reconcile()
	s.expectActions()
	if st := s.object().Status; st.HandledRestartNow != "monday" || st.VerifiedRestartNow != "" {
		t.Errorf("handledRestartNow is %q, verifiedRestartNow %q", st.HandledRestartNow, st.VerifiedRestartNow)
	}
	if got := strings.Count(strings.Join(s.events, " "), "RequestIgnored"); got != 1 {
		t.Errorf("told %d times: %q", got, s.events)
	}
	s.restart()
	s.reconcile()
	s.expectActions()
	set("tuesday")
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
}

func TestAnAnnotationThatAnEarlierPolicyHadRequestsNothing(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2") // what is owed goes on
	s.reconcile()
	s.edit(func(policy *autorebootv1.RebootPolicy) {
		policy.Annotations[autorebootv1.RestartNowAnnotation] = "from a backup"
	})
	s.recreate(false)
	s.reconcile()
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionWaiting, "True Debouncing")
	s.advance(16 * time.Second)
	s.reconcile()
	s.expectActions("Annotate api bcdef012-1")
	if got := s.object().Status.InFlight[0].Triggers; !slices.Equal(got, []string{"config"}) {
		t.Errorf("restarted for %q", got)
	}
}

func TestAnAnnotationIsNotActedOnAgainWhereTheStatusIsRemoved(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.edit(func(policy *autorebootv1.RebootPolicy) {
		policy.Annotations[autorebootv1.RestartNowAnnotation] = "monday"
	})
	s.reconcile()
	s.completeRollout("api")
	s.advance(time.Second)
	s.reconcile()
	s.advance(11 * time.Second)
	s.reconcile()
	policy := s.object()
	policy.Status = autorebootv1.RebootPolicyStatus{ObservedGeneration: -1}
	s.must(s.store.Status().Update(s.Context(), policy))
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
}
