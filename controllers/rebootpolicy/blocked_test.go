// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestWhatIsNotApprovedStartsNothingAndReadsNothing(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	baselines := s.object().Status.Targets[0].Baselines
	s.editUnapproved(func(p *autorebootv1.RebootPolicy) { p.Spec.Targets[0].Name = "other" })
	s.changeSource("Secret/creds", "hmac:2")
	for range 3 {
		s.advance(time.Minute)
		s.reconcile()
	}
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionReady, "False Forbidden")
	if diff := cmp.Diff(baselines, s.object().Status.Targets[0].Baselines); diff != "" {
		t.Errorf("baselines moved (-before +after):\n%s", diff)
	}
	s.editUnapproved(func(p *autorebootv1.RebootPolicy) { p.Spec.Targets[0].Name = "api" }) // which is approved
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
}

func TestNoAuthorIsEntitledWhereAdmissionIsNotAsked(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.WebhookExemptNamespaces = []string{policyKey.Namespace}
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionReady, "False Forbidden")
}

func TestASpecThatBreaksARuleStartsNothingAndForgetsNothing(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "Not A Name" })
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionReady, "False InvalidSpec")
	s.expectCondition(autorebootv1.ConditionStalled, "True InvalidSpec")
	s.expectCondition(autorebootv1.ConditionProgressing, "False InvalidSpec")
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions()
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "" })
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
	s.expectCondition(autorebootv1.ConditionStalled, "")
	s.advance(20 * time.Second)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
}

func TestASpecThatBreaksARuleDoesNotTryAgain(t *testing.T) {
	s := newSuite(t, strings.Replace(config, "soak: 10s", "timeout: 1m", 1)+"retry: {backoff: 1m}\n", deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.advance(2 * time.Minute) // it is not rolled out
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionVerified, "False TimedOut")
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "Not A Name" })
	s.completeRollout("api")
	s.advance(10 * time.Minute)
	s.reconcile()
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionWaiting, "True Suspended")
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "" })
	s.reconcile()
	s.expectActions("Annotate api abcdef01-2")
}

func TestASpecThatBreaksARuleSeesItsRestartThrough(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "Not A Name" })
	s.completeRollout("api")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
	s.expectCondition(autorebootv1.ConditionReady, "False InvalidSpec")
}
