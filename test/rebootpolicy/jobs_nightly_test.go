// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// A Deployment with the annotation of Reloader is paused with its restart, and the leader of that time resumes it, or once the policy is
// gone. A change during the pause is rolled out with it.
func TestAPauseOfARolloutEnds(t *testing.T) {
	s := newSuite(t)
	s.secret("creds", "password", "first")
	asks := map[string]any{"reloader.stakater.com/auto": "true", "deployment.reloader.stakater.com/pause-period": "6s"}
	s.run(deployment, "api", takes("creds"), replicas(2), with(asks, "metadata", "annotations"))
	s.policy("p", `{compatibility: Reloader, targets: [{kind: Deployment, selector: {}, optIn: Annotation}], `+onConfig+`}`)
	s.watching("p", 1)
	<-time.After(1100 * time.Millisecond)
	s.secret("creds", "password", "second")
	s.paused("api", "p")
	s.Eventually(func() error { // right after the pause
		if d := s.read(deployment, "api"); template(d)["reloader.stakater.com/last-reloaded-from"] == "" {
			return fmt.Errorf("the template says nothing: %s", framework.Text(template(d)))
		}
		return nil
	})
	s.secret("creds", "password", "third")
	s.KillLeader()
	s.paused("api", "")
	results := map[string]int{}
	for _, record := range s.ended("p", 2) {
		results[record.Result]++
	}
	if results[autorebootv1.ResultSucceeded] != 1 || results[autorebootv1.ResultSuperseded] != 1 {
		t.Errorf("one restart for two changes, and the later one needs none: %v", results)
	}
	s.available(deployment, "api")

	s.Merge("apps/v1", deployment, "api", `{metadata: {annotations: {deployment.reloader.stakater.com/pause-period: 1h}}}`)
	<-time.After(1100 * time.Millisecond)
	s.secret("creds", "password", "fourth")
	s.paused("api", "p")
	s.Delete(autorebootv1.GroupVersion.String(), "RebootPolicy", "p")
	s.paused("api", "")
	s.available(deployment, "api")
}
