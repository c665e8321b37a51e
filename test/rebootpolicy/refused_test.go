// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// restartDenials refuse the patch of Deployment web alone, and evictions of its pods alone.
func restartDenials() (patches, evictions []framework.Denial) {
	const web, pod = `object.metadata.name == "web"`, `object.metadata.name.startsWith("web-")`
	patch := framework.Write{Group: "apps", Version: "v1", Resource: "deployments", Operation: "UPDATE"}
	evict := framework.Write{Version: "v1", Resource: "pods/eviction", Operation: "CREATE"}
	for _, reason := range []string{"Invalid", "Forbidden", "RequestEntityTooLarge"} {
		patches = append(patches, framework.PolicyDenial(reason, patch, web))
		evictions = append(evictions, framework.PolicyDenial(reason, evict, pod))
	}
	return append(patches, framework.WebhookDenial(patch, web)), append(evictions, framework.WebhookDenial(evict, pod))
}

// reasonOf is the reason of a condition about a denial.
func reasonOf(d framework.Denial) string {
	if d.Name == "policy Forbidden" || d.Name == "right" {
		return autorebootv1.ReasonForbidden
	}
	return autorebootv1.ReasonWriteRefused
}

// TestARestartThatTheAPIServerRefusesIsToldAndHoldsNothing refuses the restart of one of three workloads in each way.
func TestARestartThatTheAPIServerRefusesIsToldAndHoldsNothing(t *testing.T) {
	t.Parallel()
	patches, evictions := restartDenials()
	sampler := framework.NewSampler(t)
	for _, d := range framework.Sample(sampler, 1, patches) {
		t.Run("patch/"+d.Name, func(t *testing.T) { refuses(t, d, "", "may not patch Deployment web: ") })
	}
	for _, d := range framework.Sample(sampler, 1, evictions) {
		t.Run("evict/"+d.Name, func(t *testing.T) {
			refuses(t, d, "strategy: {type: Evict}, ", "may not evict the pods of Deployment web: ")
		})
	}
}

func refuses(t *testing.T, d framework.Denial, strategy, what string) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.secret("creds", "password", "first")
	for _, name := range []string{"web", "beside", "later", "foreign"} {
		s.run(deployment, name, takes("creds"))
	}
	s.policy("p", `{targets: [{kind: Deployment, name: web}, {kind: Deployment, name: beside}, {kind: Deployment, name: later, wave: 1}],
		concurrency: {maxTargets: 1}, `+strategy+onConfig+"}")
	s.policy("other", "{"+targets(deployment, "foreign")+", "+strategy+onConfig+"}")
	s.watching("p", 3)
	s.watching("other", 1)
	d.Put(&s.Test)
	s.Eventually(func() error { return s.isDenied(d, strategy != "") })
	s.secret("creds", "password", "second")

	s.succeeded("other", 1)
	status := s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.History) != 2 || len(st.InFlight) > 0 {
			return fmt.Errorf("want the others restarted")
		}
		return nil
	})
	if len(of(status.History, "web")) > 0 || len(of(status.History, "beside")) != 1 || len(of(status.History, "later")) != 1 {
		t.Errorf("history %s", framework.Text(status.History))
	}
	status = s.held("p", "web", reasonOf(d))
	for _, kind := range []string{autorebootv1.ConditionReady, autorebootv1.ConditionWaiting, autorebootv1.ConditionStalled} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || c.Reason != reasonOf(d) || !strings.Contains(c.Message, what) || !strings.Contains(c.Message, d.Words) || c.ObservedGeneration != 1 {
			t.Errorf("%s: %s, want %q and %q", kind, framework.Text(c), what, d.Words)
		}
	}
	if c := meta.FindStatusCondition(status.Conditions, autorebootv1.ConditionProgressing); c == nil || c.Reason != autorebootv1.ReasonWaiting {
		t.Errorf("Progressing: %s", framework.Text(c))
	}
	for _, target := range status.Targets {
		if target.Attempts > 0 {
			t.Errorf("%d attempts", target.Attempts)
		}
	}
	s.Tells("RebootPolicy", "p", "RestartRefused", 1)

	d.Lift(&s.Test)
	s.set("p", "{concurrency: {maxTargets: 100%}}")
	s.succeeded("p", 3)
	s.without("p", autorebootv1.ConditionStalled)
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching)
	s.normal("p")
}

// isDenied returns an error until the API server refuses what d is to refuse.
func (s *suite) isDenied(d framework.Denial, evicts bool) error {
	s.Helper()
	args := []string{"annotate", "--dry-run=server", "deployment", "web", "denied=yet"}
	if evicts {
		pod := s.pods("web")[0].Name
		body := fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}, "deleteOptions": {"dryRun": ["All"]}}`, pod, s.Namespace)
		args = []string{"create", "--raw", "/api/v1/namespaces/" + s.Namespace + "/pods/" + pod + "/eviction?dryRun=All", "-f", s.File("eviction.json", body)}
	}
	_, told, err := s.Try("", args...)
	if err == nil || !strings.Contains(told, d.Words) {
		return fmt.Errorf("%s is not in force yet: %q", d.Name, told)
	}
	return nil
}
