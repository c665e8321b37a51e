// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"slices"
	"testing"
)

func TestThreeReplicasAnswerWebhooksAndOneReconcilesInEveryScenario(t *testing.T) {
	for _, s := range scenarios {
		answer, reconcile := 0, 0
		for _, r := range roles(s) {
			args := r.args()
			if !slices.Contains(args, "--set=webhook.enabled=false") {
				answer++
			}
			if !slices.Contains(args, "--set=controllers.enabled=false") {
				reconcile++
			}
		}
		if answer != replicas || reconcile < 2 {
			t.Errorf("%s: %d answer webhooks, and %d reconcile", s.name, answer, reconcile)
		}
	}
}

func TestALeaderThatIsKilledForNoFailureAnswersNoWebhook(t *testing.T) {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == "leader SIGKILL" })
	if i < 0 {
		t.Fatal("there is no such scenario")
	}
	if s := scenarios[i]; s.loses || s.rare || slices.Contains(roles(s), whole) {
		t.Errorf("%+v", s)
	}
}
