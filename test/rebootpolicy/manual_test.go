// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestRestartNowRestartsEveryTargetOncePerToken(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	s.run(deployment, "api", bare)
	window, _ := far()
	s.policy("p", "{"+targets(deployment, "web", "api")+", "+onConfig+", windows: "+window+", debounce: {quietPeriod: 100s}, cooldown: 1h}")
	s.watching("p", 2)
	s.Kubectl("annotate", "rbp", "p", autorebootv1.RestartNowAnnotation+"=monday")
	for _, record := range s.succeeded("p", 2) {
		if !slices.Equal(record.Triggers, []string{autorebootv1.RestartNowTrigger}) {
			t.Errorf("%s", framework.Text(record))
		}
	}
	status := s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if st.HandledRestartNow != "monday" {
			return fmt.Errorf("handledRestartNow is %q", st.HandledRestartNow)
		}
		return nil
	})
	if len(status.InFlight) > 0 {
		t.Errorf("in flight: %s", framework.Text(status.InFlight))
	}
	// The same token, taken away and given again, asks for nothing.
	s.Kubectl("annotate", "rbp", "p", autorebootv1.RestartNowAnnotation+"-")
	s.Kubectl("annotate", "rbp", "p", autorebootv1.RestartNowAnnotation+"=monday")
	s.Never(func() error { return s.quiet("p", 2) })
	s.Kubectl("annotate", "rbp", "p", "--overwrite", autorebootv1.RestartNowAnnotation+"=tuesday")
	s.succeeded("p", 4)
	s.restarted(deployment, "web", 2)
	s.restarted(deployment, "api", 2)
}

// TestRestartNowRequestsNothingWhereItIsThereAtFirst creates a policy with the annotation, as the restore of a backup does.
func TestRestartNowRequestsNothingWhereItIsThereAtFirst(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	object := s.Object(s.manifest("p", "{"+targets(deployment, "web")+", "+onConfig+"}"))
	object.SetAnnotations(map[string]string{autorebootv1.RestartNowAnnotation: "monday"})
	s.Must(s.Client.Create(s.Context(), object))
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if st.HandledRestartNow != "monday" || st.VerifiedRestartNow != "" {
			return fmt.Errorf("handledRestartNow is %q, verifiedRestartNow %q", st.HandledRestartNow, st.VerifiedRestartNow)
		}
		return nil
	})
	s.Tells("RebootPolicy", "p", "RequestIgnored", 1)
	s.restarted(deployment, "web", 0)
	s.annotate("p", autorebootv1.RestartNowAnnotation, "tuesday")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

func TestAPolicyThatIsSuspendedRemembersAndWaits(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.set("p", "{suspend: true}")
	s.condition("p", autorebootv1.ConditionSuspended, metav1.ConditionTrue, autorebootv1.ReasonSuspendedBySpec)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonSuspended)
	s.normal("p")
	s.restarted(deployment, "web", 0)
	s.set("p", "{suspend: false}")
	s.succeeded("p", 1)
	s.without("p", autorebootv1.ConditionSuspended)
	s.restarted(deployment, "web", 1)
}

func TestADryRunTellsAndDoesNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	before := s.read(deployment, "web")
	s.policy("p", "{dryRun: true, "+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonDryRun)
	s.condition("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonDryRun)
	s.Tells("RebootPolicy", "p", "RestartPlanned", 1)
	s.normal("p")
	s.Never(func() error {
		if now := s.read(deployment, "web"); now.GetResourceVersion() != before.GetResourceVersion() {
			return fmt.Errorf("the workload was written: %s", framework.Text(now))
		}
		return nil
	})
	s.set("p", "{dryRun: false}")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
