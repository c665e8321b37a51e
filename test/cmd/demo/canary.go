// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// Its schedule is out of reach: the demo asks for the run.
const canary = `
apiVersion: chaos.fairlead.dev/v1
kind: ChaosPod
metadata: {name: canary, namespace: default}
spec:
  dryRun: false
  target:
    template:
      metadata: {labels: {app: canary}}
      spec:
        terminationGracePeriodSeconds: 1
        containers: [{name: pause, image: "pause:1"}]
  schedule: {at: "2199-01-01T00:00:00Z"}
`

// survive has a canary killed once.
func survive(ctx context.Context, s *environment) error {
	if err := s.apply(ctx, canary); err != nil {
		return err
	}
	if err := s.calls(ctx,
		[]string{"wait", "--for=create", "--timeout=60s", "pod/canary"},
		[]string{"wait", "--for=condition=Ready", "--timeout=60s", "chaospod/canary", "pod/canary"},
	); err != nil {
		return err
	}
	uid := []string{"get", "pod", "canary", "-o", "jsonpath={.metadata.uid}"}
	first, err := s.Kubectl(ctx, uid...)
	if err != nil {
		return err
	}
	if err := s.calls(ctx,
		[]string{"annotate", "chaospod", "canary", "chaos.fairlead.dev/run-now=once"},
		[]string{"wait", "--for=condition=Survived", "--timeout=120s", "chaospod/canary"},
		[]string{"wait", "--for=condition=Ready", "--timeout=60s", "pod/canary"},
	); err != nil {
		return err
	}
	second, err := s.Kubectl(ctx, uid...)
	if err != nil {
		return err
	}
	show(fmt.Sprintf("the pod was %s and is %s", first, second))
	if second == first {
		return errors.New("the canary did not die")
	}
	runs, said, err := s.kubectl(ctx, "", "get", "chaospod", "canary", "-o", `jsonpath={range .status.history[*]}{.result}, killed {.killed}, recovered in {.recoveryDuration}{"\n"}{end}`)
	if err != nil {
		return errors.New(said)
	}
	if err := expect(runs, "Survived, killed 1, "); err != nil {
		return err
	}
	return framework.Eventually(ctx, 30*time.Second, func(ctx context.Context) error {
		return s.events(ctx, "canary", "ChaosPlanned", "PodEvicted", "Recovered")
	})
}
