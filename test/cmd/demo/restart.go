// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/stage"
)

const workload = `
apiVersion: v1
kind: Secret
metadata: {name: credentials, namespace: default}
stringData: {password: first}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - {name: shop, image: "shop:1", envFrom: [{secretRef: {name: credentials}}]}
`

const policy = `
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: shop, namespace: default}
spec:
  targets: [{kind: Deployment, name: shop}]
  triggers: [{name: config, type: ConfigChange, configChange: {}}]
  debounce: {quietPeriod: 1s}
  verification: {soak: 2s}
`

// restart changes a Secret twice in a row, and counts what comes of it.
func restart(ctx context.Context, s *scene) error {
	for _, manifest := range []string{workload, policy} {
		if _, said, err := s.kubectl(ctx, manifest, "apply", "-f", "-"); err != nil {
			return errors.New(said)
		}
	}
	for _, args := range [][]string{
		{"rollout", "status", "deployment/shop", "--timeout=60s"},
		{"wait", "--for=condition=Ready", "--timeout=60s", "rebootpolicy/shop"},
		{"patch", "secret", "credentials", "-p", `{"stringData":{"password":"second"}}`},
		{"patch", "secret", "credentials", "-p", `{"stringData":{"password":"third"}}`},
		{"wait", "--for=condition=Verified", "--timeout=60s", "rebootpolicy/shop"},
		{"get", "rebootpolicy", "shop"},
	} {
		if _, said, err := s.kubectl(ctx, "", args...); err != nil {
			return errors.New(said)
		}
	}
	if err := stage.Eventually(ctx, 30*time.Second, func(ctx context.Context) error {
		out, err := s.Kubectl(ctx, "get", "events", "-n", "default", "--field-selector=involvedObject.name=shop",
			"-o", `jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}`)
		if err != nil {
			return err
		}
		if err := expect(out, "RestartStarted", "RestartVerified"); err != nil {
			return err
		}
		show(out)
		return nil
	}); err != nil {
		return err
	}
	out, said, err := s.kubectl(ctx, "", "get", "replicasets", "-n", "default", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.replicas}{"\n"}{end}`)
	if err != nil {
		return errors.New(said)
	}
	if n := strings.Count(out, "shop-"); n != 2 {
		return fmt.Errorf("%d ReplicaSets, want 2: the first, and that of one restart", n)
	}
	return nil
}
